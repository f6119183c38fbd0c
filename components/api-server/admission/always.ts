/** AlwaysAdmit and AlwaysDeny: plugins that decide nothing, and everything (upstream: plugin/pkg/admission/admit, .../deny). */
import type { Log } from '../../component-base/log.ts'
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts'
import { admissionForbidden } from './forbid.ts'

function warnDeprecated(name: string, log: Log): void {
  log.warn(
    `${name} admission controller is deprecated. Please remove this controller from your configuration files and scripts.`,
  )
}

export function alwaysAdmit(log: Log): AdmissionPlugin {
  warnDeprecated('AlwaysAdmit', log)
  return { name: 'AlwaysAdmit' }
}

export function alwaysDeny(log: Log): AdmissionPlugin {
  warnDeprecated('AlwaysDeny', log)
  const deny = (request: AdmissionRequest): never => {
    throw admissionForbidden(request, 'admission control is denying all modifications')
  }
  return { name: 'AlwaysDeny', mutate: deny, validate: deny }
}
