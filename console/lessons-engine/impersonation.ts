/** Impersonation: requests that a client sends as another user, with its own credential. */
import type { RestClient } from '../../components/client/rest-client.ts'
import { described, notEmpty, object, optional, string } from '../../cluster/shape.ts'
import type { ShapeType } from '../../cluster/shape.ts'

export const impersonatedShape = notEmpty(
  object({
    user: described('A user.', optional(string)),
    group: described('A group of the user, beside system:authenticated.', optional(string)),
    serviceAccount: described('A service account, `NAMESPACE/NAME`.', optional(string)),
  }),
)

export type Impersonated = ShapeType<typeof impersonatedShape>

/** The headers that kubectl sends for `--as` and `--as-group`. */
function headersFor({ user, group, serviceAccount }: Impersonated): Record<string, string> {
  if (serviceAccount !== undefined) {
    // The server adds the groups of a service account.
    return { 'Impersonate-User': `system:serviceaccount:${serviceAccount.replace('/', ':')}` }
  }
  return {
    'Impersonate-User': user ?? '',
    ...(group === undefined ? {} : { 'Impersonate-Group': group }),
  }
}

/** The same connection, with requests as the other user. */
export function impersonating(rest: RestClient, as: Impersonated): Pick<RestClient, 'bytes'> {
  const headers = headersFor(as)
  return {
    bytes: (request) => rest.bytes({ ...request, headers: { ...request.headers, ...headers } }),
  }
}
