/** ClusterTrustBundleAttest: a bundle of a signer needs the right to attest for it (upstream: plugin/pkg/admission/certificates/ctbattest; KEP-3257). */
import type { Dialect } from '../../api/dialect.ts'
import { resourcesOf } from '../../api/resources.ts'
import { goQuote } from '../../machinery/values/go-syntax.ts'
import type { Authorizer } from '../authz/authorizer.ts'
import { changesOnlyOwnership } from '../authz/escalation.ts'
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts'
import { isAuthorizedForSigner } from './certificate-requests.ts'
import { admissionForbidden } from './forbid.ts'

export function clusterTrustBundleAttest(
  authorizer: Authorizer,
  dialect: Dialect,
): AdmissionPlugin {
  const { clusterTrustBundles } = resourcesOf(dialect)

  async function check(request: AdmissionRequest, signerName: string): Promise<void> {
    const { user } = request
    const ask = { user, verb: 'attest', signerName } as const
    if (await isAuthorizedForSigner({ authorizer, dialect }, ask)) return
    const why = `user not permitted to attest for signerName ${goQuote(signerName)}`
    throw admissionForbidden(request, why)
  }

  return {
    name: 'ClusterTrustBundleAttest',
    validate(request) {
      const { operation, resource, object, old } = request
      if (resource !== clusterTrustBundles || object === undefined) return
      if (operation !== 'CREATE' && operation !== 'UPDATE') return
      // Validation keeps an update from changing the signer.
      const { signerName } = (object['spec'] ?? {}) as { signerName?: string }
      if (!signerName) return
      if (old !== undefined && changesOnlyOwnership(object, old)) return
      return check(request, signerName)
    },
  }
}
