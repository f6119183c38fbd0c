/** The fields of a `kms` provider (upstream: apis/apiserver/v1/defaults.go, validation/validation_encryption.go). */
import { invalidValue, requiredValue } from '../../../machinery/validation/field-errors.ts'
import { durationNanos, durationText, isDuration } from '../../../machinery/values/go-duration.ts'
import { goQuote, GoText } from '../../../machinery/values/go-syntax.ts'
import { parseGoUrl } from '../../../machinery/values/go-url.ts'
import type { ConfigReader, Fields } from '../config-reader.ts'

export interface KmsProviderConfig {
  readonly kind: 'kms'
  readonly name: string
  /** As written, for messages: `unix:///run/kms.sock`. */
  readonly endpoint: string
  /** With a NUL at the start for an abstract socket. */
  readonly socketPath: string
  /** Of one call to the plugin. */
  readonly timeoutMs: number
}

const defaultTimeout = '3s'

/** Upstream's words; its advice to switch on a gate is left out, since this server has no such gate. */
const v1IsGone =
  'KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead: this server has no KMSv1, so set apiVersion: v2'

function nameOf(reader: ConfigReader, fields: Fields, path: string): string {
  const { errors, kmsNames } = reader
  const name = reader.text(fields['name'], path)
  if (name === '') errors.push(requiredValue(path, 'name is a mandatory field for a provider'))
  if (name.includes(':')) {
    const detail = `invalid KMS provider name ${name}, must not contain ':'`
    errors.push(invalidValue(path, { value: name, detail }))
  }
  if (kmsNames.has(name)) {
    const detail = `duplicate KMS provider name ${name}, names must be unique`
    errors.push(invalidValue(path, { value: name, detail }))
  }
  kmsNames.add(name)
  return name
}

function timeoutOf(reader: ConfigReader, fields: Fields, path: string): number {
  const text = reader.text(fields['timeout'] ?? defaultTimeout, path)
  if (!isDuration(text)) {
    reader.wrongType(path, `a duration such as "${defaultTimeout}"`)
    return 0
  }
  const nanos = durationNanos(text)
  if (nanos <= 0) {
    const detail = 'timeout should be a positive value'
    reader.errors.push(invalidValue(path, { value: new GoText(durationText(nanos)), detail }))
  }
  return Math.max(1, nanos / 1e6)
}

/** What is wrong with the endpoint, or its socket. */
function socketOf(endpoint: string): { readonly detail: string } | { readonly path: string } {
  if (endpoint === '') return { detail: 'endpoint is a mandatory field for a kms' }
  const url = parseGoUrl(endpoint)
  const invalid = (why: string) => ({ detail: `invalid endpoint for kms provider, error: ${why}` })
  if (typeof url === 'string') return invalid(`parse ${goQuote(endpoint)}: ${url}`)
  const { scheme, path } = url
  if (scheme !== 'unix') {
    return {
      detail: `unsupported scheme ${goQuote(scheme)} for KMS provider, only unix is supported`,
    }
  }
  if (path === '' || path === '/') {
    return invalid('the path of the socket is missing, as in unix:///run/kms.sock')
  }
  // k8s.io/kms pkg/util ParseEndpoint: Linux' abstract sockets have no file.
  return { path: decodeURIComponent(path).replace(/^\/@/, '\0') }
}

export function kmsConfigOf(reader: ConfigReader, value: unknown, path: string): KmsProviderConfig {
  const { errors } = reader
  const fields = reader.fields(value, path)
  const apiVersion = reader.text(fields['apiVersion'] ?? 'v1', `${path}.apiVersion`) || 'v1'
  const name = nameOf(reader, fields, `${path}.name`)
  const timeoutMs = timeoutOf(reader, fields, `${path}.timeout`)
  const endpoint = reader.text(fields['endpoint'], `${path}.endpoint`)
  const socket = socketOf(endpoint)
  if ('detail' in socket) {
    errors.push(invalidValue(`${path}.endpoint`, { value: endpoint, detail: socket.detail }))
  }
  const { cachesize } = fields
  if (apiVersion !== 'v1' && cachesize !== undefined && cachesize !== null) {
    const shown = new GoText(JSON.stringify(cachesize))
    const detail = 'cachesize is not supported in v2'
    errors.push(invalidValue(`${path}.cachesize`, { value: shown, detail }))
  }
  if (apiVersion !== 'v2') {
    const detail =
      apiVersion === 'v1'
        ? v1IsGone
        : 'unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported'
    errors.push(invalidValue(`${path}.apiVersion`, { value: apiVersion, detail }))
  }
  const socketPath = 'path' in socket ? socket.path : ''
  return { kind: 'kms', name, endpoint, socketPath, timeoutMs }
}
