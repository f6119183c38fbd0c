/** A connection of the library to a test's API server, with an authority's certificates as a cluster would give them. */
import type { Client } from '../../components/client/client.ts'
import type { WatchOptions } from '../../components/client/resource-client.ts'
import { systemClock } from '../../components/component-base/clock.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { connect } from '../../library/connection.ts'
import type { Connection, ConnectionOptions } from '../../library/connection.ts'
import { createIdentities, userNameOf } from '../../library/identities.ts'
import type { CredentialPem } from '../../library/cluster-form.ts'
import type { Identity } from '../../library/types.ts'
import { privateKeyPem } from '../../certs/keys.ts'
import type { TestApiServer } from '../support/api-server.ts'

/** The authority of the server, which signs its users' certificates. */
export function authorityOf({ pki }: TestApiServer): CredentialPem {
  const { certificatePem, privateKey } = pki.authority
  return { certificatePem, privateKeyPem: privateKeyPem(privateKey) }
}

/** The options of a connection as this user. */
export function optionsOf(
  server: TestApiServer,
  identity: Identity = 'admin',
  more: Partial<ConnectionOptions> = {},
): ConnectionOptions {
  return {
    server: `https://127.0.0.1:${server.port}`,
    ca: server.pki.authority.certificatePem,
    credentials: createIdentities(authorityOf(server)).credentialsOf(identity),
    dialect: server.dialect,
    clock: systemClock,
    user: userNameOf(identity),
    ...more,
  }
}

/** A connection that its test closes. */
export function connectionTo(
  server: TestApiServer,
  more: Partial<ConnectionOptions> = {},
): Connection & Disposable {
  const connection = connect(optionsOf(server, 'admin', more))
  return { ...connection, [Symbol.dispose]: () => connection.client.close() }
}

/** The same connection, which counts watches that began and ended, and events that their reader is done with. */
export function counting(connection: Connection) {
  const progress = { begun: 0, ended: 0, events: 0 }
  const { client } = connection
  const resource: Client['resource'] = (of) => {
    const verbs = client.resource<KubeObject>(of)
    return {
      ...verbs,
      watch: async function* (options: WatchOptions, signal: AbortSignal) {
        progress.begun += 1
        try {
          for await (const event of verbs.watch(options, signal)) {
            yield event
            progress.events += 1
          }
        } finally {
          progress.ended += 1
        }
      },
    } as never
  }
  return { connection: { ...connection, client: { ...client, resource } }, progress }
}
