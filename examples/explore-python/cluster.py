"""What the operators read and write."""

from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

NAMESPACE = "default"
LABEL = "example.com/mailbox"
MAILBOXES = ("example.com", "v1", NAMESPACE, "mailboxes")

config.load_kube_config()
core = client.CoreV1Api()
custom = client.CustomObjectsApi()


def list_mailboxes(**options):
    return custom.list_namespaced_custom_object(*MAILBOXES, **options)


def live_mailbox(name):
    """As it is now; None when it is gone."""
    try:
        return custom.get_namespaced_custom_object(*MAILBOXES, name)
    except ApiException as error:
        if error.status != 404:
            raise
        return None


def set_status(mailbox, **status):
    if {**mailbox.get("status", {}), **status} != mailbox.get("status", {}):
        name = mailbox["metadata"]["name"]
        custom.patch_namespaced_custom_object_status(*MAILBOXES, name, {"status": status})


def metadata_of(mailbox, **named):
    """Of an object that goes with the mailbox."""
    meta = mailbox["metadata"]
    owner = {"apiVersion": "example.com/v1", "kind": "Mailbox", "name": meta["name"], "uid": meta["uid"]}
    return {"labels": {LABEL: meta["name"]}, "ownerReferences": [owner], **named}


def ensure(create):
    """Creates the object unless it is there."""
    try:
        create()
    except ApiException as error:
        if error.status != 409:
            raise


def ensure_mail(mailbox):
    metadata = metadata_of(mailbox, name=f"{mailbox['metadata']['name']}-mail")
    ensure(lambda: core.create_namespaced_config_map(NAMESPACE, {"metadata": metadata}))


def ensure_password(mailbox):
    """The name of its Secret."""
    name = f"{mailbox['metadata']['name']}-password"
    metadata = metadata_of(mailbox, name=name)
    ensure(lambda: core.create_namespaced_secret(NAMESPACE, {"metadata": metadata}))
    return name
