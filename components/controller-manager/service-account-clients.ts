/** Clients that act as service accounts: short-lived tokens by TokenRequest, renewed in time, over one shared connection. */
import type { ServiceAccount, TokenRequest } from '../api/generated/types.ts'
import { apiGroup } from '../api/dialect.ts'
import { resourcesOf } from '../api/resources.ts'
import { createClientOver } from '../client/client.ts'
import type { Client } from '../client/client.ts'
import type { RestClient, RestRequest } from '../client/rest-client.ts'
import { isStatusError } from '../machinery/objects/status-error.ts'

/** As upstream's controllers ask for (client_builder_dynamic.go). */
const upstreamSeconds = 3600
/** A token is renewed when this share of its life has passed. */
const renewalShare = 0.8

export interface TokenSource {
  /** A token that holds now; asks for a new one when needed. */
  token(): Promise<string>
  /** The server did not accept the token: ask for a new one next time. */
  refused(): void
}

/** Tokens of one account in the system namespace, which is created when it is not there. */
export function createTokenSource(
  root: Client,
  account: string,
  lifetimeSeconds = upstreamSeconds,
): TokenSource {
  const { dialect, clock } = root
  const accounts = root.resource<ServiceAccount>(resourcesOf(dialect).serviceAccounts)
  const at = { namespace: dialect.systemNamespace, name: account }
  let held: { readonly token: string; readonly renewAtMs: number; readonly endsAtMs: number }
  held = { token: '', renewAtMs: 0, endsAtMs: 0 }
  let asking: Promise<void> | undefined

  const request = async (): Promise<TokenRequest> => {
    const body = {
      apiVersion: `${apiGroup(dialect, 'authentication')}/v1`,
      kind: 'TokenRequest',
      metadata: {},
      spec: { expirationSeconds: lifetimeSeconds },
    }
    return (await accounts.createSubresource(at, 'token', body)) as unknown as TokenRequest
  }
  const ask = async (): Promise<void> => {
    let answer: TokenRequest
    try {
      answer = await request()
    } catch (error) {
      if (!isStatusError(error, 'NotFound')) throw error
      try {
        await accounts.create({ metadata: at })
      } catch (existing) {
        if (!isStatusError(existing, 'AlreadyExists')) throw existing
      }
      answer = await request()
    }
    const nowMs = clock.now()
    const endsAtMs = Date.parse(answer.status?.expirationTimestamp ?? '')
    const renewAtMs = nowMs + (endsAtMs - nowMs) * renewalShare
    held = { token: answer.status?.token ?? '', renewAtMs, endsAtMs }
  }

  return {
    token: async () => {
      if (clock.now() < held.renewAtMs) return held.token
      asking ??= ask().finally(() => {
        asking = undefined
      })
      try {
        await asking
      } catch (error) {
        // While the old token still holds, a failed renewal is not worth failing for.
        if (clock.now() >= held.endsAtMs) throw error
      }
      return held.token
    },
    refused: () => {
      held = { token: '', renewAtMs: 0, endsAtMs: 0 }
    },
  }
}

/** The connection with a bearer token on every request. Its own credentials and its end stay the caller's. */
export function withToken(rest: RestClient, source: TokenSource): RestClient {
  const authorized = async <T>(
    request: RestRequest,
    send: (request: RestRequest) => Promise<T>,
  ): Promise<T> => {
    const authorization = `Bearer ${await source.token()}`
    try {
      return await send({ ...request, headers: { ...request.headers, authorization } })
    } catch (error) {
      if (isStatusError(error, 'Unauthorized')) source.refused()
      throw error
    }
  }
  return {
    server: rest.server,
    json: (request) => authorized(request, (sent) => rest.json(sent)),
    bytes: (request) => authorized(request, (sent) => rest.bytes(sent)),
    stream: (request) => authorized(request, (sent) => rest.stream(sent)),
    dialing: async () => {
      const { tls, headers } = await rest.dialing()
      return { tls, headers: { ...headers, authorization: `Bearer ${await source.token()}` } }
    },
    setCredentials: () => {},
    close: () => {},
  }
}

/** Clients by account: `bare` is a connection without credentials, `root` may make tokens for every account, which last so long. */
export function createServiceAccountClients(
  root: Client,
  bare: RestClient,
  lifetimeSeconds?: number,
): (account: string) => Client {
  const clients = new Map<string, Client>()
  return (account) => {
    const { dialect, clock, log } = root
    const known =
      clients.get(account) ??
      createClientOver(withToken(bare, createTokenSource(root, account, lifetimeSeconds)), {
        dialect,
        clock,
        log,
      })
    clients.set(account, known)
    return known
  }
}
