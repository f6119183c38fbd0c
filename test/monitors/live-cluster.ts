/** A whole cluster in the test's process, with an administrator's client and clients of other users. */
import { issue } from '../../certs/pki.ts'
import { loadAuthority } from '../../certs/authority.ts'
import { adminSubject, clientProfile } from '../../certs/profiles.ts'
import { dialects } from '../../components/api/dialect.ts'
import { createClient, type Client } from '../../components/client/client.ts'
import { EmbeddedCluster } from '../../embedded/embedded-cluster.ts'

export interface LiveCluster extends AsyncDisposable {
  readonly cluster: EmbeddedCluster
  readonly client: Client
  /** A client of this user, which the cluster closes. */
  as(user: string, options?: { groups?: readonly string[]; userAgent?: string }): Client
}

export async function startLiveCluster(
  components: readonly ('controller-manager' | 'scheduler')[] = ['controller-manager', 'scheduler'],
): Promise<LiveCluster> {
  const cluster = await EmbeddedCluster.start({
    nodes: components.length === 0 ? [] : [{ name: 'node-1', flags: {} }],
    components,
    extraFlags: {},
    port: 0,
    seed: 1,
    startAtMs: undefined,
    initialState: undefined,
  })
  const clients: Client[] = []
  const open = (subject: typeof adminSubject, userAgent?: string): Client => {
    const { certificatePem: cert, privateKeyPem: key } = issue(loadAuthority(cluster.authority), {
      profile: clientProfile(subject),
      nowMs: Date.now(),
    })
    const client = createClient({
      server: cluster.server,
      ca: cluster.authority.certificatePem,
      credentials: { cert, key },
      dialect: dialects.kubernetes,
      ...(userAgent === undefined ? {} : { userAgent }),
    })
    clients.push(client)
    return client
  }
  return {
    cluster,
    client: open(adminSubject),
    as: (user, { groups = [], userAgent } = {}) =>
      open({ commonName: user, organizations: [...groups] }, userAgent),
    [Symbol.asyncDispose]: async () => {
      for (const client of clients) client.close()
      await cluster.close()
    },
  }
}
