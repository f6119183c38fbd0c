/** Secret (upstream: core/validation ValidateSecret, pkg/registry/core/secret). */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { labelKey, type Dialect } from '../../../api/dialect.ts'
import type { Secret } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { getOwn, setOwn } from '../../../machinery/values/json-copy.ts'
import { configKey } from '../../../machinery/validation/names.ts'
import type { Strategy } from '../strategy.ts'
import { semanticEqual, validateImmutable } from '../rules/field-rules.ts'
import { validation, type Change } from '../rules/strategy-checks.ts'

/** Most bytes of all values together; ConfigMaps have the same limit. */
export const mostDataBytes = 1024 * 1024

export const immutableWhenSet = 'field is immutable when `immutable` is set'

const redacted = '<secret contents redacted>'

/** Bytes that base64 text stands for. */
export function decodedLength(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0
  return (base64.length / 4) * 3 - padding
}

function textOf(base64: string | undefined): string {
  return Buffer.from(base64 ?? '', 'base64').toString('utf8')
}

type TypeCheck = (secret: Secret, root: FieldPath, dialect: Dialect) => void

function requireJsonObject(key: string): TypeCheck {
  return ({ data }, root) => {
    const at = root.child('data').key(key)
    const value = data?.[key]
    if (value === undefined) {
      at.required()
      return
    }
    const fault = jsonObjectFault(textOf(value))
    if (fault !== undefined) at.invalid(redacted, fault)
  }
}

function jsonObjectFault(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (value === null || (typeof value === 'object' && !Array.isArray(value))) return undefined
    const type = Array.isArray(value)
      ? 'array'
      : value === true || value === false
        ? 'bool'
        : typeof value
    return `json: cannot unmarshal ${type} into Go value of type map[string]interface {}`
  } catch {
    // The parser's own words differ from upstream's; one text stands for all.
    return text.trim() === '' ? 'unexpected end of JSON input' : 'invalid character in JSON'
  }
}

/** What typed secrets must hold, by the type's name below the product's domain. */
const typeChecks: Readonly<Record<string, TypeCheck>> = {
  'service-account-token': ({ metadata }, root, dialect) => {
    const key = labelKey(dialect, '', 'service-account.name')
    if (!metadata.annotations?.[key]) {
      root.child('metadata').child('annotations').key(key).required()
    }
  },
  dockercfg: requireJsonObject('.dockercfg'),
  dockerconfigjson: requireJsonObject('.dockerconfigjson'),
  'basic-auth': ({ data = {} }, root) => {
    const keys = ['username', 'password']
    if (keys.some((key) => data[key] !== undefined)) return
    for (const key of keys) root.child('data').key(key).required()
  },
  'ssh-auth': ({ data = {} }, root) => {
    if (!data['ssh-privatekey']) root.child('data').key('ssh-privatekey').required()
  },
  tls: ({ data = {} }, root) => {
    for (const key of ['tls.crt', 'tls.key']) {
      if (data[key] === undefined) root.child('data').key(key).required()
    }
  },
}

function typeName(secret: Secret, dialect: Dialect): string {
  const prefix = labelKey(dialect, '', '')
  return secret.type?.startsWith(prefix) ? secret.type.slice(prefix.length) : ''
}

function validateSecret(
  secret: Secret,
  root: FieldPath,
  { dialect }: { readonly dialect: Dialect },
): void {
  let bytes = 0
  for (const key in secret.data) {
    root.child('data').key(key).invalidEach(key, configKey(key))
    bytes += decodedLength(secret.data[key] ?? '')
  }
  if (bytes > mostDataBytes) root.child('data').tooLong(mostDataBytes)
  getOwn(typeChecks, typeName(secret, dialect))?.(secret, root, dialect)
}

function validateChange({ object, old }: Change<Secret>, root: FieldPath): void {
  validateImmutable({ now: object.type, before: old.type }, root.child('type'))
  if (old.immutable !== true) return
  if (object.immutable !== true) root.child('immutable').forbidden(immutableWhenSet)
  if (!semanticEqual(object.data, old.data)) root.child('data').forbidden(immutableWhenSet)
}

/** Go's words for a certificate and key that do not make a pair. */
function keyPairFault(certificate: string, key: string): string | undefined {
  if (!/-----BEGIN CERTIFICATE-----/.test(certificate)) {
    return 'tls: failed to find any PEM data in certificate input'
  }
  if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(key)) {
    return 'tls: failed to find any PEM data in key input'
  }
  try {
    const isPair = new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key))
    return isPair ? undefined : 'tls: private key does not match public key'
  } catch {
    // Only a warning: what exactly cannot be read does not matter.
    return 'tls: failed to parse private key'
  }
}

export const secretStrategy: Strategy = {
  applyDefaults(object) {
    const secret = object as Secret
    secret.type ||= 'Opaque'
    for (const [key, text] of Object.entries(secret.stringData ?? {})) {
      setOwn((secret.data ??= {}), key, Buffer.from(text, 'utf8').toString('base64'))
    }
    delete secret.stringData
  },
  ...validation<Secret>(validateSecret, validateChange),
  warnings(object, _old, { dialect }) {
    const secret = object as Secret
    if (typeName(secret, dialect) !== 'tls') return []
    const fault = keyPairFault(textOf(secret.data?.['tls.crt']), textOf(secret.data?.['tls.key']))
    return fault === undefined ? [] : [fault]
  },
}
