"""Bug: it says that the mailbox is ready before it is. Killed in between, it believes its own status."""

from cluster import ensure_mail, ensure_password, live_mailbox, set_status
from operate import operate


def reconcile(name):
    mailbox = live_mailbox(name)
    if mailbox is None or mailbox.get("status", {}).get("quota") == mailbox["spec"]["quota"]:
        return
    set_status(mailbox, password=f"{name}-password", quota=mailbox["spec"]["quota"])
    ensure_mail(mailbox)
    ensure_password(mailbox)


if __name__ == "__main__":
    operate(reconcile)
