/**
 * Encryption at rest: rules of the configuration -> one transformer per stored resource. Callers keep
 * one value; `reload` replaces the rules behind it.
 */
import type { Dialect } from '../../api/dialect.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { aesCbc } from './aes-cbc.ts'
import { aesGcm } from './aes-gcm.ts'
import { groupResourceName, parseGroupResource, type GroupResource } from './encrypted-resources.ts'
import type { EncryptionKind, EncryptionRule, ProviderConfig } from './encryption-config.ts'
import { identity } from './identity.ts'
import {
  firstWrites,
  type Provider,
  type StorageTransformers,
  type Transformer,
} from './transformer.ts'

type CipherOf = (secret: Buffer) => Transformer

/** Providers by kind; secretbox, which needs a package, is loaded when a rule names it. */
async function ciphersFor(
  rules: readonly EncryptionRule[],
): Promise<Readonly<Record<EncryptionKind, CipherOf>>> {
  const wantsBox = rules.some(({ providers }) => providers.some(({ kind }) => kind === 'secretbox'))
  const secretbox: CipherOf = wantsBox
    ? (await import('./secretbox.ts')).secretbox
    : () => {
        throw new Error('no rule names secretbox')
      }
  return { aesgcm: aesGcm, aescbc: aesCbc, secretbox }
}

/** How messages name a provider's family. */
const families: Readonly<Record<EncryptionKind, string>> = {
  aesgcm: 'AES',
  aescbc: 'AES',
  secretbox: 'Secretbox',
}

function providerOf(
  config: ProviderConfig,
  more: { dialect: Dialect; ciphers: Readonly<Record<EncryptionKind, CipherOf>> },
): Provider {
  if (config.kind === 'identity') return identity
  const { kind, keys } = config
  const byKey = keys.map((key): Provider => ({
    ...more.ciphers[kind](key.secret),
    prefix: `${key.name}:`,
  }))
  const noKey = `no matching key was found for the provided ${families[kind]} transformer`
  return {
    ...firstWrites(byKey, noKey),
    prefix: `${more.dialect.encryptionPrefix}${kind}:v1:`,
  }
}

/** Rules by name. Throws when an earlier wildcard hides a later rule. */
async function transformersOf(
  rules: readonly EncryptionRule[],
  dialect: Dialect,
): Promise<ReadonlyMap<string, Transformer>> {
  const ciphers = await ciphersFor(rules)
  const providers = new Map<string, Provider[]>()
  for (const rule of rules) {
    const made = rule.providers.map((provider) => providerOf(provider, { dialect, ciphers }))
    for (const name of rule.resources) {
      const asked = parseGroupResource(name)
      const wider: GroupResource[] = [
        { group: asked.group, resource: '*' },
        { group: '*', resource: '*' },
      ]
      const hiding = wider.map(groupResourceName).find((wide) => providers.has(wide))
      if (hiding !== undefined) {
        throw new Error(
          `error while building transformers: resource "${groupResourceName(asked)}" is masked by earlier rule "${hiding}"`,
        )
      }
      const key = groupResourceName(asked)
      providers.set(key, [...(providers.get(key) ?? []), ...made])
    }
  }
  return new Map(
    Array.from(providers, ([name, list]) => [name, firstWrites(list, 'no matching prefix found')]),
  )
}

/** The transformers of a server, exchangeable while it runs. */
export interface Encryption extends StorageTransformers {
  /** Replaces the rules for writes and reads. Rejects when they are unusable and keeps the old ones. */
  reload(rules: readonly EncryptionRule[]): Promise<void>
}

/** Transformers for checked rules. `resources` are all stored ones, to find the group of a storage prefix. */
export async function createEncryption(
  rules: readonly EncryptionRule[],
  options: { dialect: Dialect; resources: readonly Resource[] },
): Promise<Encryption> {
  const { dialect, resources } = options
  let byName = await transformersOf(rules, dialect)
  /** By storage prefix; each is looked up once. */
  let found = new Map<string, Transformer | undefined>()
  const names = new Map<string, GroupResource>()
  for (const { group, plural, storagePrefix, package: own, storageVersion } of resources) {
    if (own === storageVersion.package || !names.has(storagePrefix)) {
      names.set(storagePrefix, { group, resource: plural })
    }
  }

  function lookUp(storagePrefix: string): Transformer | undefined {
    const [prefixGroup = '', plural = ''] = storagePrefix.split('/')
    const { group, resource } = names.get(storagePrefix) ?? { group: prefixGroup, resource: plural }
    const candidates: GroupResource[] = [
      { group, resource },
      { group, resource: '*' },
      { group: '*', resource: '*' },
    ]
    for (const candidate of candidates) {
      const transformer = byName.get(groupResourceName(candidate))
      if (transformer !== undefined) return transformer
    }
    return undefined
  }

  return {
    of: (storagePrefix) => {
      if (!found.has(storagePrefix)) found.set(storagePrefix, lookUp(storagePrefix))
      return found.get(storagePrefix)
    },
    reload: async (changed) => {
      byName = await transformersOf(changed, dialect)
      found = new Map()
    },
  }
}
