/** Ingress (upstream: pkg/apis/networking). */
import { labelKey } from '../../../api/dialect.ts'
import type {
  HTTPIngressPath,
  Ingress,
  IngressBackend,
  IngressRule,
  IngressServiceBackend,
  IngressSpec,
  IngressTLS,
} from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { goList } from '../../../machinery/values/go-syntax.ts'
import { parseIpAddress, validateIpAddress } from '../../../machinery/validation/ip-address.ts'
import {
  label1035,
  portName,
  portNumber,
  subdomain,
  wildcardSubdomain,
} from '../../../machinery/validation/names.ts'
import type { Strategy, StrategyContext } from '../strategy.ts'
import { pathMustBeAbsolute, validateSubdomain } from '../rules/field-rules.ts'
import { validateTypedReference } from '../rules/object-references.ts'
import { restoreAllButStatus } from '../rules/status-update.ts'
import { createValidation, updateValidation, type Change } from '../rules/strategy-checks.ts'

const pathTypes = ['Exact', 'ImplementationSpecific', 'Prefix']
const badSequences = ['//', '/./', '/../', '%2f', '%2F']
const badEnds = ['/..', '/.']
const noAddress = 'must be a DNS name, not an IP address'

function validateHost(host: string, at: FieldPath): void {
  at.invalidEach(host, host.includes('*') ? wildcardSubdomain(host) : subdomain(host))
}

function validateService(service: IngressServiceBackend, at: FieldPath): void {
  const { name, port: { name: byName, number: byNumber } = {} } = service
  const serviceAt = at.child('service')
  if (!name) serviceAt.child('name').required()
  else serviceAt.child('name').invalidEach(name, label1035(name))
  const portAt = serviceAt.child('port')
  if (byName && byNumber) at.invalid('', 'cannot set both port name & port number')
  else if (byName) portAt.child('name').invalidEach(byName, portName(byName))
  else if (byNumber) portAt.child('number').invalidEach(byNumber, portNumber(byNumber))
  else at.required('port name or number is required')
}

function validateBackend({ service, resource }: IngressBackend, at: FieldPath): void {
  if (service && resource) at.invalid('', 'cannot set both resource and service backends')
  else if (resource) validateTypedReference(resource, at.child('resource'))
  else if (service) validateService(service, at)
  else at.invalid('', 'resource or service backend is required')
}

function validatePath({ path = '', pathType, backend }: HTTPIngressPath, at: FieldPath): void {
  if (typeof pathType !== 'string') {
    at.child('pathType').required('pathType must be specified')
    return
  }
  const pathAt = at.child('path')
  if (pathType === 'Exact' || pathType === 'Prefix') {
    if (!path.startsWith('/')) pathAt.invalid(path, pathMustBeAbsolute)
    for (const bad of badSequences) {
      if (path.includes(bad)) pathAt.invalid(path, `must not contain '${bad}'`)
    }
    for (const bad of badEnds)
      if (path.endsWith(bad)) pathAt.invalid(path, `cannot end with '${bad}'`)
  } else if (pathType === 'ImplementationSpecific') {
    if (path !== '' && !path.startsWith('/')) pathAt.invalid(path, pathMustBeAbsolute)
  } else at.child('pathType').unsupported(pathType, pathTypes)
  validateBackend(backend ?? {}, at.child('backend'))
}

function validateRule({ host, http }: IngressRule, at: FieldPath): void {
  if (host) {
    if (parseIpAddress(host) !== undefined) at.child('host').invalid(host, noAddress)
    validateHost(host, at.child('host'))
  }
  if (!http) return
  const pathsAt = at.child('http').child('paths')
  const paths = http.paths ?? []
  if (paths.length === 0) pathsAt.required()
  for (const [i, path] of paths.entries()) validatePath(path, pathsAt.index(i))
}

function validateTls({ hosts, secretName }: IngressTLS, at: FieldPath): void {
  for (const [i, host] of (hosts ?? []).entries()) validateHost(host, at.child('hosts').index(i))
  if (secretName) validateSubdomain(secretName, at.child('secretName'))
}

function validateSpec(spec: IngressSpec, at: FieldPath): void {
  const { rules, defaultBackend, tls, ingressClassName } = spec
  if (!defaultBackend && !rules?.length) {
    at.invalid(
      goList(
        rules?.map(() => ''),
        'networking.IngressRule',
      ),
      'either `defaultBackend` or `rules` must be specified',
    )
  }
  if (defaultBackend) validateBackend(defaultBackend, at.child('defaultBackend'))
  for (const [i, rule] of (rules ?? []).entries()) validateRule(rule, at.child('rules').index(i))
  for (const [i, entry] of (tls ?? []).entries()) validateTls(entry, at.child('tls').index(i))
  if (typeof ingressClassName === 'string') {
    validateSubdomain(ingressClassName, at.child('ingressClassName'))
  }
}

function validateState({ spec }: Ingress, root: FieldPath): void {
  validateSpec(spec ?? {}, root.child('spec'))
}

/** The annotation that named the class before there was a field for it. */
function classAnnotation({ dialect }: StrategyContext): string {
  return labelKey(dialect, '', 'ingress.class')
}

function validateNew(ingress: Ingress, root: FieldPath, context: StrategyContext): void {
  validateState(ingress, root)
  const { metadata, spec } = ingress
  const key = classAnnotation(context)
  const annotated = metadata.annotations?.[key]
  const at = root.child('annotations').child(key)
  const named = spec?.ingressClassName
  if (annotated !== undefined && typeof named === 'string' && named !== annotated) {
    at.invalid(annotated, 'must match `ingressClassName` when both are specified')
  }
}

function validateStatus({ status }: Ingress, root: FieldPath): void {
  const at = root.child('status').child('loadBalancer').child('ingress')
  const entries = status?.loadBalancer?.ingress ?? []
  for (const [i, { ip, hostname }] of entries.entries()) {
    if (ip) validateIpAddress(ip, at.index(i).child('ip'))
    if (!hostname) continue
    const hostAt = at.index(i).child('hostname')
    validateSubdomain(hostname, hostAt)
    if (parseIpAddress(hostname) !== undefined) hostAt.invalid(hostname, noAddress)
  }
}

export const ingressStrategy: Strategy = {
  hasGeneration: true,
  prepareForCreate(object) {
    object['status'] = { loadBalancer: {} }
  },
  validate: createValidation(validateNew),
  validateUpdate: updateValidation(({ object }: Change<Ingress>, root) => {
    validateState(object, root)
  }),
  warnings(object, old, context) {
    const key = classAnnotation(context)
    if (old !== undefined || object.metadata.annotations?.[key] === undefined) return []
    return [`annotation "${key}" is deprecated, please use 'spec.ingressClassName' instead`]
  },
  subresources: {
    status: {
      prepareForUpdate: restoreAllButStatus,
      validateUpdate: updateValidation(({ object }: Change<Ingress>, root) => {
        validateStatus(object, root)
      }),
    },
  },
}
