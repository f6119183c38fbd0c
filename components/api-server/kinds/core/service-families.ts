/** Settles `ipFamilies` and `ipFamilyPolicy` of a Service in a cluster with one IP family (upstream: alloc.go, initIPFamilyFields). */
import type { Service, ServiceSpec } from '../../../api/generated/types.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { invalid } from '../../../machinery/objects/status-error.ts'
import { FieldPath } from '../../../machinery/validation/field-path.ts'
import { parseIpAddress, type IpFamily } from '../../../machinery/validation/ip-address.ts'
import { goList } from '../../../machinery/values/go-syntax.ts'
import { isHeadless, needsClusterIp, noClusterIp, sameTexts } from './service-fields.ts'
import { validateClusterIps } from './service-validation.ts'

/** Throws Invalid if there are findings. */
export function refuse(object: KubeObject, root: FieldPath): void {
  if (root.errors.length === 0) return
  throw invalid({ group: '', kind: 'Service' }, object.metadata.name ?? '', root.errors)
}

/** Changes the draft. Throws Invalid for families and addresses that do not fit together, or are not of the cluster's family. */
export function settleFamilies(service: Service, old: Service | undefined, family: IpFamily): void {
  const { spec } = service
  if (spec === undefined || spec.type === 'ExternalName' || keepsPreference(spec, old?.spec)) return
  spec.ipFamilyPolicy ??=
    old?.spec?.ipFamilyPolicy ?? (takesAnyFamily(spec) ? 'RequireDualStack' : 'SingleStack')
  const root = FieldPath.root()
  const at = root.child('spec')
  validateClusterIps(spec, at)
  refuse(service, root)
  if (old?.spec !== undefined) releaseSecond(spec, old.spec, at)
  checkPolicy(spec, at)
  inferFamilies(spec, at, family)
  refuse(service, root)
  if (takesAnyFamily(spec)) {
    addFamilies(spec, family)
    return
  }
  checkFamilies(spec, at, family)
  refuse(service, root)
  if (!spec.ipFamilies?.length) spec.ipFamilies = [family]
}

/** Endpoints of a headless Service without a selector can be of a family that the cluster does not have. */
function takesAnyFamily(spec: ServiceSpec): boolean {
  return isHeadless(spec) && Object.keys(spec.selector ?? {}).length === 0
}

/** A Service that prefers two families stays as it is, whatever families the cluster has meanwhile. */
function keepsPreference(now: ServiceSpec, before: ServiceSpec | undefined): boolean {
  const prefers = 'PreferDualStack'
  return (
    before !== undefined &&
    now.ipFamilyPolicy === prefers &&
    (before.ipFamilyPolicy ?? prefers) === prefers &&
    needsClusterIp(now) &&
    now.type === before.type &&
    sameTexts(now.clusterIPs, before.clusterIPs) &&
    sameTexts(now.ipFamilies, before.ipFamilies)
  )
}

const secondValues = { clusterIPs: 'cluster IP', ipFamilies: 'IP family' } as const
const fieldsOfFamilies = ['clusterIPs', 'ipFamilies'] as const

/** A Service that becomes single-stack gives its second address and family up; no other may leave them out. */
function releaseSecond(now: ServiceSpec, before: ServiceSpec, at: FieldPath): void {
  for (const field of fieldsOfFamilies) {
    const [values, old] = [now[field] ?? [], before[field] ?? []]
    if (now.ipFamilyPolicy === 'SingleStack') {
      if (values.length > 1 && sameTexts(values, old)) now[field] = values.slice(0, 1)
    } else if (values.length > 0 && values.length < old.length) {
      const why = `must be 'SingleStack' to release the secondary ${secondValues[field]}`
      at.child('ipFamilyPolicy').invalid(now.ipFamilyPolicy, why)
    }
  }
}

function checkPolicy(spec: ServiceSpec, at: FieldPath): void {
  if (spec.ipFamilyPolicy !== 'SingleStack') return
  const names = { clusterIPs: 'cluster IPs', ipFamilies: 'IP families' }
  for (const field of fieldsOfFamilies) {
    if (spec[field]?.length !== 2) continue
    const why = `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${names[field]} are specified`
    at.child('ipFamilyPolicy').invalid('SingleStack', why)
  }
}

/** Addresses that the client named tell their families. */
function inferFamilies(spec: ServiceSpec, at: FieldPath, family: IpFamily): void {
  const { clusterIPs = [] } = spec
  for (const [i, ip] of clusterIPs.entries()) {
    if (ip === noClusterIp) break
    if (i < (spec.ipFamilies ?? []).length) continue
    const own = parseIpAddress(ip)?.family ?? family
    if (own === family) (spec.ipFamilies ??= []).push(own)
    else {
      const why = `${own} is not configured on this cluster`
      at.child('clusterIPs').index(i).invalid(goList(clusterIPs), why)
    }
  }
}

function addFamilies(spec: ServiceSpec, family: IpFamily): void {
  if (!spec.ipFamilies?.length) spec.ipFamilies = [family]
  if (spec.ipFamilies.length > 1 || spec.ipFamilyPolicy === 'SingleStack') return
  spec.ipFamilies.push(spec.ipFamilies[0] === 'IPv4' ? 'IPv6' : 'IPv4')
}

function checkFamilies(spec: ServiceSpec, at: FieldPath, family: IpFamily): void {
  if (spec.ipFamilyPolicy === 'RequireDualStack') {
    const why = 'this cluster is not configured for dual-stack services'
    at.child('ipFamilyPolicy').invalid(spec.ipFamilyPolicy, why)
  }
  for (const [i, one] of (spec.ipFamilies ?? []).entries()) {
    if (one !== family)
      at.child('ipFamilies').index(i).invalid(one, 'not configured on this cluster')
  }
}
