/**
 * A rest client whose every request impersonates a user (`--as`), as kubectl does. It rejects requests that impersonate somebody else:
 * the API server would judge them by the rights of the credential, not of that user. The error is no Status: it is not the cluster's
 * answer.
 */
import type { RestClient, RestRequest } from '../../components/client/rest-client.ts'

export interface Impersonated {
  readonly user: string
  readonly groups: readonly string[]
}

export function impersonatedClient(rest: RestClient, as: Impersonated): RestClient {
  const headers = {
    'impersonate-user': as.user,
    ...(as.groups.length === 0 ? {} : { 'impersonate-group': [...as.groups] }),
  }
  const added = (request: RestRequest): RestRequest => {
    const given = Object.keys(request.headers ?? {})
    if (given.some((name) => /^impersonate-/i.test(name))) {
      throw new Error(`you act as ${as.user}, so requests as another user cannot be made`)
    }
    return { ...request, headers: { ...request.headers, ...headers } }
  }
  return {
    ...rest,
    json: async (request) => await rest.json(added(request)),
    bytes: async (request) => await rest.bytes(added(request)),
    stream: async (request) => await rest.stream(added(request)),
    dialing: async () => {
      const { tls, headers: own } = await rest.dialing()
      return { tls, headers: { ...own, ...headers } }
    },
  }
}
