/** Asking a test server why: the endpoints below /explain/. */
import type {
  AccessExplanation,
  ChangesExplanation,
  DeniedExplanations,
  TokenExplanation,
} from '../../components/api/explanations.ts'
import type { TestApiServer } from './api-server.ts'

/** The resource part of a question, with what every question has. */
export interface AskedResource {
  readonly verb: string
  readonly resource: string
  readonly group?: string
  readonly subresource?: string
  readonly namespace?: string
  readonly name?: string
}

export interface AskedAccess {
  readonly user?: string
  readonly groups?: readonly string[]
  readonly resourceAttributes?: AskedResource
  readonly nonResourceAttributes?: { readonly verb: string; readonly path: string }
}

export async function explainAccess(
  server: TestApiServer,
  spec: AskedAccess,
): Promise<AccessExplanation> {
  return (await server.ok('POST', '/explain/access', { body: { spec } })) as AccessExplanation
}

export async function explainToken(
  server: TestApiServer,
  token: string,
  audiences: readonly string[] = [],
): Promise<TokenExplanation> {
  const body = { spec: { token, audiences } }
  return (await server.ok('POST', '/explain/token', { body })) as TokenExplanation
}

export async function denied(server: TestApiServer, limit = 100): Promise<DeniedExplanations> {
  return (await server.ok('GET', `/explain/denied?limit=${limit}`)) as DeniedExplanations
}

export async function changes(
  server: TestApiServer,
  namespace: string,
  limit = 200,
): Promise<ChangesExplanation> {
  const path = `/explain/changes?namespace=${namespace}&limit=${limit}`
  return (await server.ok('GET', path)) as ChangesExplanation
}
