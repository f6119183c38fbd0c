/** Actors: the users that send a scenario's requests. */
import type { Resources } from '../../components/api/resources.ts'
import type { Client } from '../../components/client/client.ts'
import type { Identity } from '../../cluster/identity.ts'
import { choice, described, either, list, object, optional, string } from '../../cluster/shape.ts'
import type { ShapeType } from '../../cluster/shape.ts'
import type { ScenarioCluster } from './scenario-cluster.ts'

export const actorShape = either(
  choice('admin', 'anonymous'),
  object({
    user: described("A user with a client certificate of the cluster's CA.", optional(string)),
    groups: described('Groups of the user.', optional(list(string))),
    token: described('A bearer token.', optional(string)),
    serviceAccount: described('A service account, `NAMESPACE/NAME`.', optional(string)),
    node: described("The identity of this node's agent.", optional(string)),
  }),
)

export type Actor = ShapeType<typeof actorShape>

async function serviceAccountToken(
  client: Client,
  resources: Resources,
  account: string,
): Promise<string> {
  const [namespace = 'default', name = ''] = account.split('/')
  const answer = await client
    .resource(resources.serviceAccounts)
    .createSubresource({ namespace, name }, 'token', {
      apiVersion: `${resources.tokenReviews.group}/v1`,
      kind: 'TokenRequest',
      metadata: {},
      spec: { expirationSeconds: 3600 },
    })
  return (answer['status'] as { token: string }).token
}

/** A client for the actor, and the actor's key in a cache of clients. */
export async function clientOf(
  actor: Actor,
  options: { cluster: ScenarioCluster; resources: Resources },
): Promise<Client> {
  const { cluster, resources } = options
  const as = (identity: Identity): Client => cluster.clientAs(identity)
  if (typeof actor === 'string') return as(actor)
  if (actor.token !== undefined) return as({ token: actor.token })
  if (actor.serviceAccount !== undefined) {
    return as({ token: await serviceAccountToken(cluster.client, resources, actor.serviceAccount) })
  }
  if (actor.node !== undefined) {
    return as({ user: `system:node:${actor.node}`, groups: ['system:nodes'] })
  }
  if (actor.user === undefined)
    throw new Error('an actor needs user, token, serviceAccount or node')
  return as({ user: actor.user, groups: actor.groups ?? [] })
}

export function describeActor(actor: Actor): string {
  if (typeof actor === 'string') return actor
  if (actor.token !== undefined) return 'the bearer of a token'
  return (
    actor.serviceAccount ??
    (actor.node === undefined ? `user ${actor.user ?? '?'}` : `node ${actor.node}`)
  )
}
