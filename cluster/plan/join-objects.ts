/** Join objects: what a cluster must hold so that nodes can join by token, named as kubeadm names them (phases clusterinfo, node). */
import { kubeletClientSubject } from '../../certs/profiles.ts'
import { apiGroup } from '../../components/api/dialect.ts'
import type { Dialect } from '../../components/api/dialect.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import type { Client } from '../../components/client/client.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import type { Resource } from '../../components/machinery/objects/resource.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import { nodeTokenGroup } from './bootstrap-token.ts'
import type { ClusterConfig } from './cluster-config.ts'
import { ClusterError } from '../cluster-error.ts'

export interface PlacedObject {
  readonly resource: Resource
  readonly object: KubeObject
}

/** The public client configuration: the server's URL and its CA, without credentials. */
export function discoveryKubeconfig(server: string, authorityPem: string): string {
  return [
    'apiVersion: v1',
    'clusters:',
    '- cluster:',
    `    certificate-authority-data: ${Buffer.from(authorityPem).toString('base64')}`,
    `    server: ${server}`,
    '  name: ""',
    'contexts: null',
    'current-context: ""',
    'kind: Config',
    'preferences: {}',
    'users: null',
    '',
  ].join('\n')
}

type Subject = { readonly kind: 'Group' | 'User'; readonly name: string }

/** ClusterRoleBindings: who may request a node's certificate, whose requests are approved, and who administers. */
function clusterRoleBindings(dialect: Dialect): PlacedObject[] {
  const rbac = apiGroup(dialect, 'rbac.authorization')
  const bind = (name: string, subject: Subject, clusterRole: string): PlacedObject => ({
    resource: resourcesOf(dialect).clusterRoleBindings,
    object: {
      metadata: { name },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: clusterRole },
      subjects: [{ apiGroup: rbac, ...subject }],
    },
  })
  const group = (name: string): Subject => ({ kind: 'Group', name })
  const joining = group(nodeTokenGroup)
  const [administrators = ''] = kubeletClientSubject.organizations
  const requests = `system:${apiGroup(dialect, 'certificates')}:certificatesigningrequests`
  const rotation = 'kubeadm:node-autoapprove-certificate-rotation'
  return [
    bind('kubeadm:cluster-admins', group(administrators), 'cluster-admin'),
    bind('kubeadm:kubelet-bootstrap', joining, 'system:node-bootstrapper'),
    bind('kubeadm:node-autoapprove-bootstrap', joining, `${requests}:nodeclient`),
    bind(rotation, group('system:nodes'), `${requests}:selfnodeclient`),
    bind('kubeadm:get-nodes', joining, 'kubeadm:get-nodes'),
  ]
}

/** The Role and RoleBinding with which anonymous requests read cluster-info. */
function clusterInfoAccess(dialect: Dialect): PlacedObject[] {
  const resources = resourcesOf(dialect)
  const rbac = apiGroup(dialect, 'rbac.authorization')
  const name = 'kubeadm:bootstrap-signer-clusterinfo'
  const metadata = { name, namespace: dialect.publicNamespace }
  const rule = {
    apiGroups: [''],
    resources: ['configmaps'],
    resourceNames: ['cluster-info'],
    verbs: ['get'],
  }
  const roleRef = { apiGroup: rbac, kind: 'Role', name }
  const subjects = [{ apiGroup: rbac, kind: 'User', name: 'system:anonymous' }]
  return [
    { resource: resources.roles, object: { metadata, rules: [rule] } },
    { resource: resources.roleBindings, object: { metadata, roleRef, subjects } },
  ]
}

/** The objects that nodes need to join by token. The API server creates none of them itself. */
export function joinObjects(options: {
  dialect: Dialect
  server: string
  authorityPem: string
}): PlacedObject[] {
  const { dialect, server, authorityPem } = options
  const resources = resourcesOf(dialect)
  return [
    ...clusterRoleBindings(dialect),
    {
      resource: resources.clusterRoles,
      object: {
        metadata: { name: 'kubeadm:get-nodes' },
        rules: [{ apiGroups: [''], resources: ['nodes'], verbs: ['get'] }],
      },
    },
    {
      resource: resources.configMaps,
      object: {
        metadata: { name: 'cluster-info', namespace: dialect.publicNamespace },
        data: { kubeconfig: discoveryKubeconfig(server, authorityPem) },
      },
    },
    ...clusterInfoAccess(dialect),
  ]
}

/**
 * Rejects with a ClusterError when the API server rejects anonymous requests. A node reads cluster-info anonymously before it
 * trusts the server, and would retry until its timeout.
 */
export async function checkAnonymousJoins(
  anonymous: Client,
  extraFlags: ClusterConfig['extraFlags'],
): Promise<void> {
  const { dialect } = anonymous
  const info = { namespace: dialect.publicNamespace, name: 'cluster-info' }
  try {
    await anonymous.resource(resourcesOf(dialect).configMaps).get(info)
  } catch (error) {
    if (!isStatusError(error, 'Unauthorized')) return // any other error is transient, or the agents report it
    const mode = extraFlags['api-server']?.['authorization-mode'] ?? ''
    const isOpen = mode.split(',').includes('AlwaysAllow')
    throw new ClusterError(
      'usage',
      'the API server rejects anonymous requests, so no node can join by token',
      {
        details: isOpen
          ? [`authorization-mode=${mode}: AlwaysAllow disables anonymous requests`]
          : [],
        hint: isOpen
          ? 'add --set api-server.anonymous-auth=true, remove AlwaysAllow, or start without nodes: --nodes 0'
          : 'allow them for cluster-info, or start without nodes: --nodes 0',
        cause: error,
      },
    )
  }
}

const retryMs = 20
const retries = 250

/**
 * Creates the objects in parallel and leaves existing ones unchanged. Retries while a namespace is missing: the server creates
 * its own namespaces shortly after it starts to serve.
 */
export async function createObjects(
  client: Client,
  objects: readonly PlacedObject[],
  signal?: AbortSignal,
): Promise<void> {
  const create = async ({ resource, object }: PlacedObject): Promise<void> => {
    for (let left = retries; ; left -= 1) {
      try {
        await client.resource(resource).create(object, signal === undefined ? {} : { signal })
        return
      } catch (error) {
        if (isStatusError(error, 'AlreadyExists')) return
        const mayCome = isStatusError(error, 'NotFound') && object.metadata.namespace !== undefined
        if (!mayCome || left === 0) throw error
      }
      await client.clock.sleep(retryMs, signal)
    }
  }
  await Promise.all(objects.map(create))
}
