/** Connection: one user's requests to one cluster, and what its clients, expectations and manifests share. */
import type { IdentityCredentials } from '../cluster/identity.ts'
import type { Dialect } from '../components/api/dialect.ts'
import { createClient } from '../components/client/client.ts'
import type { Client } from '../components/client/client.ts'
import { createKubeconfig, kubeconfigDocument } from '../components/client/kubeconfig.ts'
import type { Clock } from '../components/component-base/clock.ts'
import type { UnderWay } from '../components/component-base/under-way.ts'
import { yamlOf } from '../components/machinery/values/yaml.ts'
import { createKinds } from './kinds.ts'
import type { Kinds } from './kinds.ts'

export interface ConnectionOptions {
  /** `https://127.0.0.1:PORT`. */
  readonly server: string
  /** PEM of the authority that signs the server's certificate. */
  readonly ca: string
  readonly credentials?: IdentityCredentials
  readonly dialect: Dialect
  /** The cluster's time. Timers of the network follow real time. */
  readonly clock: Clock
  /** Of objects that name none; default `default`. */
  readonly namespace?: string | undefined
  /** What stands before the first slash is the field manager of writes that name none. Default `kube-skiff`. */
  readonly userAgent?: string | undefined
  /** Counts its requests until their answers have come. */
  readonly underWay?: UnderWay | undefined
  /** How the kubeconfig calls the user; default `user`. */
  readonly user?: string | undefined
}

export interface Connection {
  readonly client: Client
  readonly kinds: Kinds
  readonly namespace: string
  /** YAML, with everything embedded. */
  kubeconfig(): string
}

export const productName = 'kube-skiff'

/** A connection that is not opened before its first request; its owner closes `client`. */
export function connect(options: ConnectionOptions): Connection {
  const { server, ca, credentials, dialect, clock } = options
  const { namespace = 'default', userAgent = productName, user = 'user', underWay } = options
  const shown = credentials === undefined ? {} : { credentials }
  const client = createClient({ server, ca, ...shown, dialect, clock, userAgent, underWay })
  return {
    client,
    kinds: createKinds(client),
    namespace,
    kubeconfig: () => {
      const config = createKubeconfig({
        cluster: productName,
        server,
        ca,
        user,
        credentials,
        namespace,
      })
      return yamlOf(JSON.stringify(kubeconfigDocument(config)))
    },
  }
}
