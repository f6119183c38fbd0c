"""Bug: when it starts it deletes the mail of mailboxes that are not in its list, which may be an old one."""

from cluster import LABEL, NAMESPACE, core, list_mailboxes
from correct import reconcile
from operate import operate, until_done


def clean_up():
    # From the server's cache, since that is cheap.
    names = {one["metadata"]["name"] for one in list_mailboxes(resource_version="0")["items"]}
    for mail in core.list_namespaced_config_map(NAMESPACE, label_selector=LABEL).items:
        if mail.metadata.labels[LABEL] not in names:
            core.delete_namespaced_config_map(mail.metadata.name, NAMESPACE)


if __name__ == "__main__":
    until_done(clean_up)
    operate(reconcile)
