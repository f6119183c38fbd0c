/** Join objects: what nodes need in the cluster to join by token; upstream's kubeadm creates the same by the same names (phases clusterinfo, node). */
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

/** The client configuration that anybody may read: where the server is and which CA to trust, no credentials. */
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

/**
 * The cluster-info ConfigMap, who may read it, who may ask for a node's certificate, whose requests are approved, who may look
 * whether a node's name is taken, and that the API server may reach into node agents. The API server makes none of it.
 */
export function joinObjects(options: {
  dialect: Dialect
  server: string
  authorityPem: string
}): PlacedObject[] {
  const { dialect } = options
  const resources = resourcesOf(dialect)
  const rbac = apiGroup(dialect, 'rbac.authorization')
  const certificates = apiGroup(dialect, 'certificates')
  type Subject = { kind: 'Group' | 'User'; name: string }
  const bind = (name: string, subject: Subject, clusterRole: string): PlacedObject => ({
    resource: resources.clusterRoleBindings,
    object: {
      metadata: { name },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: clusterRole },
      subjects: [{ apiGroup: rbac, ...subject }],
    },
  })
  const group = (name: string): Subject => ({ kind: 'Group', name })
  const joining = group(nodeTokenGroup)
  const [administrators = ''] = kubeletClientSubject.organizations
  const requests = `system:${certificates}:certificatesigningrequests`
  const infoReader = {
    name: 'kubeadm:bootstrap-signer-clusterinfo',
    namespace: dialect.publicNamespace,
  }
  return [
    bind('kubeadm:cluster-admins', group(administrators), 'cluster-admin'),
    bind('kubeadm:kubelet-bootstrap', joining, 'system:node-bootstrapper'),
    bind('kubeadm:node-autoapprove-bootstrap', joining, `${requests}:nodeclient`),
    bind(
      'kubeadm:node-autoapprove-certificate-rotation',
      group('system:nodes'),
      `${requests}:selfnodeclient`,
    ),
    {
      resource: resources.clusterRoles,
      object: {
        metadata: { name: 'kubeadm:get-nodes' },
        rules: [{ apiGroups: [''], resources: ['nodes'], verbs: ['get'] }],
      },
    },
    bind('kubeadm:get-nodes', joining, 'kubeadm:get-nodes'),
    {
      resource: resources.configMaps,
      object: {
        metadata: { name: 'cluster-info', namespace: dialect.publicNamespace },
        data: { kubeconfig: discoveryKubeconfig(options.server, options.authorityPem) },
      },
    },
    {
      resource: resources.roles,
      object: {
        metadata: infoReader,
        rules: [
          {
            apiGroups: [''],
            resources: ['configmaps'],
            resourceNames: ['cluster-info'],
            verbs: ['get'],
          },
        ],
      },
    },
    {
      resource: resources.roleBindings,
      object: {
        metadata: infoReader,
        roleRef: { apiGroup: rbac, kind: 'Role', name: infoReader.name },
        subjects: [{ apiGroup: rbac, kind: 'User', name: 'system:anonymous' }],
      },
    },
  ]
}

/**
 * Throws a ClusterError when the API server refuses anonymous requests: a node reads cluster-info anonymously before it knows
 * whom to trust, and would ask until its time is over.
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
    if (!isStatusError(error, 'Unauthorized')) return // whatever else it is passes, or the agents say it
    const mode = extraFlags['api-server']?.['authorization-mode'] ?? ''
    const isOpen = mode.split(',').includes('AlwaysAllow')
    throw new ClusterError(
      'usage',
      'the API server refuses anonymous requests, so no node can join by token',
      {
        details: isOpen
          ? [`authorization-mode=${mode}: AlwaysAllow switches anonymous requests off`]
          : [],
        hint: isOpen
          ? 'add --set api-server.anonymous-auth=true, or leave AlwaysAllow out, or start without nodes: --nodes 0'
          : 'allow them for cluster-info, or start without nodes: --nodes 0',
        cause: error,
      },
    )
  }
}

const retryMs = 20
const retries = 250

/**
 * Creates the objects, all at once; what is there already stays as it is. A namespace that the server is just about to
 * create is waited for.
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
