/** DenyServiceExternalIPs: rejects external IPs that a Service does not have already (upstream: plugin/pkg/admission/network/denyserviceexternalips). */
import type { Dialect } from '../../api/dialect.ts'
import type { Service } from '../../api/generated/types.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { AdmissionPlugin } from './admission.ts'
import { admissionForbidden } from './forbid.ts'

export function denyServiceExternalIps(dialect: Dialect): AdmissionPlugin {
  const { services } = resourcesOf(dialect)
  return {
    name: 'DenyServiceExternalIPs',
    validate(request) {
      const { operation, resource, subresource, object, old } = request
      if (resource !== services || subresource !== '') return
      if (operation !== 'CREATE' && operation !== 'UPDATE') return
      const before = new Set((old as Service | undefined)?.spec?.externalIPs)
      const after = (object as Service | undefined)?.spec?.externalIPs ?? []
      if (after.every((ip) => before.has(ip))) return
      throw admissionForbidden(request, 'Use of external IPs is denied by admission control')
    },
  }
}
