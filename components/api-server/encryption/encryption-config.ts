/** EncryptionConfiguration: the file of --encryption-provider-config, read and checked with upstream's texts. Secrets never show. */
import { apiGroup, type Dialect } from '../../api/dialect.ts'
import { canonicalBase64 } from '../../machinery/values/base64.ts'
import { invalidValue, requiredValue } from '../../machinery/validation/field-errors.ts'
import { goQuote, GoText } from '../../machinery/values/go-syntax.ts'
import { load } from '../../machinery/values/yaml.ts'
import { ConfigReader, fieldsOf } from './config-reader.ts'
import { checkResourceNames } from './encrypted-resources.ts'
import { kmsConfigOf, type KmsProviderConfig } from './kms/kms-config.ts'

export const encryptionKinds = ['aesgcm', 'aescbc', 'secretbox'] as const
export type EncryptionKind = (typeof encryptionKinds)[number]

export interface EncryptionKey {
  readonly name: string
  readonly secret: Buffer
}

export type ProviderConfig =
  | { readonly kind: 'identity' }
  | KmsProviderConfig
  | { readonly kind: EncryptionKind; readonly keys: readonly EncryptionKey[] }

/** One element of `resources`: names as in the file (`secrets`, `*.apps`), and their providers in order. */
export interface EncryptionRule {
  readonly resources: readonly string[]
  readonly providers: readonly ProviderConfig[]
}

const keySizes: Readonly<Record<EncryptionKind, readonly number[]>> = {
  aesgcm: [16, 24, 32],
  aescbc: [16, 24, 32],
  secretbox: [32],
}

function keyOf(
  reader: ConfigReader,
  value: unknown,
  at: { path: string; kind: EncryptionKind },
): EncryptionKey {
  const { path, kind } = at
  const before = reader.errors.length
  const fields = reader.fields(value, path)
  const name = reader.text(fields['name'], `${path}.name`)
  const secret = reader.text(fields['secret'], `${path}.secret`)
  const nothing = { name, secret: Buffer.alloc(0) }
  if (reader.errors.length > before) return nothing
  const { errors } = reader
  if (name === '') errors.push(requiredValue(`${path}.name`, 'name is a mandatory field for a key'))
  if (secret === '') {
    errors.push(requiredValue(`${path}.secret`, 'secret is a mandatory field for a key'))
    return nothing
  }
  const refuse = (detail: string): EncryptionKey => {
    errors.push(invalidValue(`${path}.secret`, { value: 'REDACTED', detail }))
    return nothing
  }
  const canonical = canonicalBase64(secret)
  if (typeof canonical !== 'string') return refuse('secrets must be base64 encoded')
  const bytes = Buffer.from(canonical, 'base64')
  const sizes = keySizes[kind]
  if (sizes.includes(bytes.length)) return { name, secret: bytes }
  return refuse(
    `secret is not of the expected length, got ${bytes.length}, expected one of [${sizes.join(' ')}]`,
  )
}

function providerOf(reader: ConfigReader, value: unknown, path: string): ProviderConfig {
  const fields = reader.fields(value, path)
  // As upstream, `identity: {}` counts and `identity:` (null) does not.
  const given = Object.keys(fields).filter((name) => fields[name] !== null)
  const known = ['kms', ...encryptionKinds, 'identity'].filter((name) => given.includes(name))
  const refuse = (detail: string): ProviderConfig => {
    // Only the names: the values below them hold secrets.
    const shown = new GoText(`{${given.join(' ')}}`)
    reader.errors.push(invalidValue(path, { value: shown, detail }))
    return { kind: 'identity' }
  }
  if (known.length === 0) {
    return refuse(
      'provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity',
    )
  }
  if (known.length > 1) {
    return refuse(
      'more than one provider specified in a single element, should split into different list elements',
    )
  }
  if (known[0] === 'kms') return kmsConfigOf(reader, fields['kms'], `${path}.kms`)
  const kind = encryptionKinds.find((name) => name === known[0])
  if (kind === undefined) return { kind: 'identity' }
  const { keys } = reader.fields(fields[kind], `${path}.${kind}`)
  const keysPath = `${path}.${kind}.keys`
  return {
    kind,
    keys: reader
      .list(keys, keysPath, 'keys')
      .map((key, at) => keyOf(reader, key, { path: `${keysPath}[${at}]`, kind })),
  }
}

function ruleOf(
  reader: ConfigReader,
  value: unknown,
  at: { path: string; dialect: Dialect },
): EncryptionRule {
  const { path, dialect } = at
  const fields = reader.fields(value, path)
  const names = reader
    .list(fields['resources'], `${path}.resources`)
    .map((name, index) => reader.text(name, `${path}.resources[${index}]`))
  reader.errors.push(...checkResourceNames(names, { path: `${path}.resources`, dialect }))
  const providers = reader
    .list(fields['providers'], `${path}.providers`)
    .map((provider, index) => providerOf(reader, provider, `${path}.providers[${index}]`))
  return { resources: names, providers }
}

/** Parses and checks the text of the file; throws an Error whose message names the field of each error. */
export function parseEncryptionConfig(
  text: string,
  at: { path: string; dialect: Dialect },
): readonly EncryptionRule[] {
  const { path, dialect } = at
  if (text === '')
    throw new Error(`encryption provider configuration file ${goQuote(path)} is empty`)
  const decoding = `error decoding encryption provider configuration file ${goQuote(path)}`
  let document: unknown
  try {
    document = load(text)
  } catch (error) {
    // The parser's own message shows the line, which may hold a secret.
    const [where = ''] = /\(\d+:\d+\)/.exec((error as Error).message) ?? []
    const { reason } = error as { reason?: unknown }
    const what = typeof reason === 'string' ? reason : 'it cannot be read'
    throw new Error(`${decoding}: yaml: ${what} ${where}`.trimEnd())
  }
  const fields = fieldsOf(document)
  const version = `${apiGroup(dialect, 'apiserver.config')}/v1`
  const { kind, apiVersion } = fields ?? {}
  if (typeof kind !== 'string' || kind === '') {
    throw new Error(`${decoding}: Object 'Kind' is missing in the document`)
  }
  if (kind !== 'EncryptionConfiguration' || apiVersion !== version) {
    const asked = typeof apiVersion === 'string' ? apiVersion : ''
    throw new Error(
      `${decoding}: no kind ${goQuote(kind)} is registered for version ${goQuote(asked)}; ` +
        `wanted is "EncryptionConfiguration" in version ${goQuote(version)}`,
    )
  }
  const reader = new ConfigReader()
  const rules = reader
    .list(fields?.['resources'], 'resources')
    .map((rule, index) => ruleOf(reader, rule, { path: `resources[${index}]`, dialect }))
  if (reader.errors.length === 0) return rules
  const lines = [...new Set(reader.errors.map(({ field, message }) => `${field}: ${message}`))]
  throw new Error(lines.length === 1 ? lines[0] : `[${lines.join(', ')}]`)
}
