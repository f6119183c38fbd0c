/** security: certificates, authentication, authorization and egress. */
import { createAuthentication, type Authentication } from '../authn/authentication.ts'
import { createLegacyTokenUses, type LegacyTokenUses } from '../authn/legacy-token-uses.ts'
import { createAuthorization, type Authorization } from '../authz/authorization.ts'
import { createEscalationCheck, type CheckEscalation } from '../authz/escalation.ts'
import type { EgressSelector } from '../egress/egress-selector.ts'
import { egressOf } from './flag-files.ts'
import { openCertificates, type FollowedCertificates } from './followed-certificates.ts'
import type { Settings } from './settings.ts'
import type { State } from './state.ts'

export interface Security {
  readonly certificates: FollowedCertificates
  readonly egress: EgressSelector
  readonly authentication: Authentication
  readonly authorization: Authorization
  readonly checkEscalation: CheckEscalation
  readonly legacyTokenUses: LegacyTokenUses
}

/** Reads certificates, keys and configuration files. Rejects with a StartError that names the flag and the file. */
export async function openSecurity(settings: Settings, { cache }: State): Promise<Security> {
  const { options, dialect, gates, files } = settings
  const certificates = await openCertificates(options, files)
  const egress = await egressOf(options, dialect)
  const parts = { ...settings, reader: cache, dial: egress.controlplane, gates }
  const legacyTokenUses = createLegacyTokenUses()
  const authentication = await createAuthentication(options, {
    ...parts,
    certificates,
    legacyTokenUses,
  })
  const authorization = await createAuthorization(options, parts)
  const checkEscalation = createEscalationCheck({
    index: authorization.rbacIndex,
    authorizer: authorization.authorizer,
    reader: cache,
    dialect,
  })
  return {
    certificates,
    egress,
    authentication,
    authorization,
    checkEscalation,
    legacyTokenUses,
  }
}
