"""What must hold in the ledger after any fault, checked from SQL (I1 to I8 of the fault matrix)."""

from sqlalchemy import create_engine, text

FINAL = "('completed', 'failed', 'cancelled')"
CHECKS = {
    "I1 every step has ended": f"select id from steps where status not in {FINAL}",
    "I2 a completed step has one try that is done": (
        "select s.id from steps s left join attempts a on a.step_id = s.id and a.outcome = 'done' "
        "where s.status = 'completed' group by s.id having count(a.step_id) <> 1"
    ),
    "I3 one step_finished event for each completed step": (
        "select s.id from steps s left join events e on e.run_id = s.run_id and e.type = 'step_finished' "
        "and e.payload->>'step_id' = s.id where s.status = 'completed' group by s.id having count(e.seq) <> 1"
    ),
    "I4 no try is left open": "select step_id from attempts where outcome is null and step_id in "
    f"(select id from steps where status in {FINAL} and status <> 'cancelled')",
    "I5 leases of a step never overlap": (
        "select a.step_id from attempts a join attempts b on b.step_id = a.step_id and b.number = a.number + 1 "
        "where b.claimed_at < least(a.leased_until, coalesce(a.ended_at, a.leased_until))"
    ),
    "I5 no lease is taken away before it has run out": (
        "select step_id from attempts where outcome = 'interrupted' and ended_at < leased_until"
    ),
    "I6 tries are numbered without a gap": (
        "select step_id from attempts group by step_id having max(number) <> count(*)"
    ),
    "I7 the events of a run have no gap": (
        "select run_id from events group by run_id having max(seq) <> count(*) "
        "union all select r.id from runs r where r.last_seq <> (select count(*) from events e where e.run_id = r.id)"
    ),
    "I8 every excerpt stands in its snapshot": (
        "select e.id from evidence e join runs r on r.id = e.run_id left join snapshots s on s.owner_id = r.owner_id "
        "and s.sha256 = e.body->>'snapshot_sha256' where s.sha256 is null or substr(convert_from(s.data, 'UTF8'), "
        "(e.body->>'start')::int + 1, (e.body->>'end')::int - (e.body->>'start')::int) <> e.body->>'excerpt'"
    ),
    "no step key twice": "select run_id from steps group by run_id, epoch, key having count(*) > 1",
}


def broken_invariants(database_url: str) -> dict[str, list[str]]:
    """Return the invariants that do not hold, each with the ids that break it."""
    engine = create_engine(database_url)
    try:
        with engine.connect() as connection:
            found = {name: [str(row[0]) for row in connection.execute(text(sql))] for name, sql in CHECKS.items()}
        return {name: ids for name, ids in found.items() if ids}
    finally:
        engine.dispose()
