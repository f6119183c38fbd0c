/** Uploading: puts what a further machine of the control plane needs into a Secret, encrypted (kubeadm: phase upload-certs). */
import { apiGroup } from '../../components/api/dialect.ts'
import type { Dialect } from '../../components/api/dialect.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import type { Client } from '../../components/client/client.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import { createObjects } from '../plan/join-objects.ts'
import type { PlacedObject } from '../plan/join-objects.ts'
import { sealed } from './certificate-key.ts'
import type { SharedFiles } from './shared-files.ts'

/** As kubeadm calls it. */
export const certificatesSecret = 'kubeadm-certs'
/** The group of tokens that may read it. */
export const controlPlaneTokenGroup = 'system:bootstrappers:kubeadm:control-plane-token'

/** Who may read the Secret: only tokens that were made for this. */
function readers(dialect: Dialect): PlacedObject[] {
  const resources = resourcesOf(dialect)
  const rbac = apiGroup(dialect, 'rbac.authorization')
  const name = 'kubeadm:kubeadm-certs'
  const metadata = { name, namespace: dialect.systemNamespace }
  const rule = {
    apiGroups: [''],
    resources: ['secrets'],
    resourceNames: [certificatesSecret],
    verbs: ['get'],
  }
  const subjects = [{ apiGroup: rbac, kind: 'Group', name: controlPlaneTokenGroup }]
  const roleRef = { apiGroup: rbac, kind: 'Role', name }
  return [
    { resource: resources.roles, object: { metadata, rules: [rule] } },
    { resource: resources.roleBindings, object: { metadata, roleRef, subjects } },
  ]
}

/** Replaces the Secret. It is owned by the token's Secret, and goes with it when the token expires. */
export async function uploadCertificates(
  client: Client,
  files: SharedFiles,
  { key, owner }: { readonly key: Buffer; readonly owner: KubeObject },
): Promise<void> {
  const { dialect, clock } = client
  const secrets = client.resource(resourcesOf(dialect).secrets)
  const namespace = dialect.systemNamespace
  const data = Object.entries(files).map(([name, text]) => {
    return [name, sealed(text, name, { key, clock }).toString('base64')] as const
  })
  const { name = '', uid = '' } = owner.metadata
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Secret', name, uid, controller: true }]
  await secrets.delete({ namespace, name: certificatesSecret }).catch((error: unknown) => {
    if (!isStatusError(error, 'NotFound')) throw error
  })
  await secrets.create({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: certificatesSecret, namespace, ownerReferences },
    data: Object.fromEntries(data),
  })
  await createObjects(client, readers(dialect))
}
