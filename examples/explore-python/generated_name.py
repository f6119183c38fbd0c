"""Bug: it remembers the generated name of the Secret only after it has made it. Without the answer, it makes another one."""

from cluster import NAMESPACE, core, ensure_mail, live_mailbox, metadata_of, set_status
from operate import operate


def reconcile(name):
    mailbox = live_mailbox(name)
    if mailbox is None:
        return
    ensure_mail(mailbox)
    password = mailbox.get("status", {}).get("password")
    if password is None:
        metadata = metadata_of(mailbox, generateName=f"{name}-password-")
        password = core.create_namespaced_secret(NAMESPACE, {"metadata": metadata}).metadata.name
    set_status(mailbox, password=password, quota=mailbox["spec"]["quota"])


if __name__ == "__main__":
    operate(reconcile)
