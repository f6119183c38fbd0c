/** token: POST serviceaccounts/{name}/token mints a token for the account (upstream: TokenRequest). */
import { apiGroup } from '../../api/dialect.ts'
import { noSuchResource } from '../../machinery/objects/status-error.ts'
import type { ServiceAccountIssuer } from '../authn/service-account-issuer.ts'
import { decodeBodyAs } from '../codec/decode-body.ts'
import { answerJson } from '../codec/respond.ts'
import { writeOptionsOf } from '../codec/write-options.ts'
import type { ResourceHandler } from './parts.ts'

/** Without a signing key the sub-resource is 404, as upstream. */
export function createTokenHandler(issuer: ServiceAccountIssuer | undefined): ResourceHandler {
  return async (context, resource, parts) => {
    if (issuer === undefined) throw noSuchResource()
    const { info, user, warnings } = context
    const options = writeOptionsOf(info.query, 'CreateOptions', parts.dialect)
    const request = await decodeBodyAs(
      context,
      {
        kind: 'TokenRequest',
        apiVersion: `${apiGroup(parts.dialect, 'authentication')}/v1`,
        schema: 'authentication/v1.TokenRequest',
      },
      'Ignore',
    )
    const { namespace, name } = info
    await parts.registry.admit({
      operation: 'CREATE',
      resource,
      subresource: 'token',
      namespace,
      name,
      object: request,
      old: undefined,
      user,
      dryRun: options.dryRun,
      warnings,
      context,
    })
    return answerJson(201, await issuer.createToken({ namespace, name, request }))
  }
}
