/** RuleSet: the rules of one configuration, as providers by name, and the KMS providers behind them. */
import type { Dialect } from '../../api/dialect.ts'
import { aesCbc } from './aes-cbc.ts'
import { aesGcm } from './aes-gcm.ts'
import { groupResourceName, parseGroupResource, type GroupResource } from './encrypted-resources.ts'
import type { EncryptionKind, EncryptionRule, ProviderConfig } from './encryption-config.ts'
import { identity } from './identity.ts'
import { createKmsProvider, type KmsProvider, type KmsSurroundings } from './kms/kms-provider.ts'
import { firstWrites, type Provider, type Transformer } from './transformer.ts'

export interface RuleSet {
  /** The first one writes. */
  readonly byName: ReadonlyMap<string, readonly Provider[]>
  /** In the order of the file. */
  readonly kms: readonly KmsProvider[]
}

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

interface Making {
  readonly dialect: Dialect
  readonly ciphers: Readonly<Record<EncryptionKind, CipherOf>>
  readonly surroundings: KmsSurroundings
  /** Gets the KMS providers that are made. */
  readonly kms: KmsProvider[]
}

function providerOf(config: ProviderConfig, making: Making): Provider {
  if (config.kind === 'identity') return identity
  const { encryptionPrefix } = making.dialect
  if (config.kind === 'kms') {
    const provider = createKmsProvider(config, making.surroundings)
    making.kms.push(provider)
    return { ...provider.transformer, prefix: `${encryptionPrefix}kms:v2:${config.name}:` }
  }
  const { kind, keys } = config
  const byKey = keys.map((key): Provider => ({
    ...making.ciphers[kind](key.secret),
    prefix: `${key.name}:`,
  }))
  const noKey = `no matching key was found for the provided ${families[kind]} transformer`
  return { ...firstWrites(byKey, noKey), prefix: `${encryptionPrefix}${kind}:v1:` }
}

/** Makes the set; nothing is asked of plugins yet. Throws when an earlier wildcard hides a later rule. */
export async function createRuleSet(
  rules: readonly EncryptionRule[],
  more: { dialect: Dialect; surroundings: KmsSurroundings },
): Promise<RuleSet> {
  const making: Making = { ...more, ciphers: await ciphersFor(rules), kms: [] }
  const providers = new Map<string, Provider[]>()
  for (const rule of rules) {
    const made = rule.providers.map((provider) => providerOf(provider, making))
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
  return { byName: providers, kms: making.kms }
}
