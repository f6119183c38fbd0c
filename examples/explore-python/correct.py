"""Keeps a Secret and a ConfigMap for each mailbox. Survives every plan."""

from cluster import ensure_mail, ensure_password, live_mailbox, set_status
from operate import operate


def reconcile(name):
    mailbox = live_mailbox(name)
    if mailbox is None:
        return
    ensure_mail(mailbox)
    password = ensure_password(mailbox)
    set_status(mailbox, password=password, quota=mailbox["spec"]["quota"])


if __name__ == "__main__":
    operate(reconcile)
