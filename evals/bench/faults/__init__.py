"""The kill loop: runs over a simulated web while everything around them dies, against the same runs undisturbed.

`world` is the web and the servers, `work` what is asked, `monkey` what goes wrong, `sameness` and `checks` what must
hold afterwards. Needs a source checkout: the processes and sites of `tests.support` are used.
"""
