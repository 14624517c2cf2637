from web.session import limit_seconds


def reap_idle(sessions, now):
    """Closes every session that was idle for too long, and says how many."""
    limit = limit_seconds()
    idle = [s for s in sessions if now - s.last_seen > limit]
    for session in idle:
        session.close()
    return len(idle)


def reap_broken(sessions):
    for session in [s for s in sessions if s.broken]:
        session.close()
