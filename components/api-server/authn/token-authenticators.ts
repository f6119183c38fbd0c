/** token-authenticators: the authenticators of bearer tokens that the flags name, and the keys of service account tokens. */
import { apiGroup, type Dialect } from '../../api/dialect.ts'
import type { Clock } from '../../component-base/clock.ts'
import { StartError } from '../../component-base/component.ts'
import type { Files } from '../../component-base/files.ts'
import { readFlagFile } from '../../component-base/flag-file.ts'
import type { ApiServerOptions } from '../configuration/options.ts'
import type { Dial } from '../egress/egress-selector.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { TokenAuthenticator } from './authenticator.ts'
import { askedAgain } from './asked-again.ts'
import { forOwnAudiences } from './bearer-token.ts'
import { bootstrapTokenAuthenticator } from './bootstrap-token.ts'
import type { LegacyTokenUses } from './legacy-token-uses.ts'
import type { Issuers } from './oidc/issuers.ts'
import {
  parseSigningKey,
  parseVerificationKeys,
  type VerificationKey,
} from './service-account-keys.ts'
import { serviceAccountTokenAuthenticator } from './service-account-token.ts'
import { parseStaticTokens, staticTokenAuthenticator } from './static-token-file.ts'

/** What token authenticators read and dial. */
interface TokenParts {
  readonly reader: ObjectReader
  readonly clock: Clock
  readonly dialect: Dialect
  /** How to dial the token webhook; connections to issuers are direct. */
  readonly dial: Dial | undefined
  readonly legacyTokenUses: LegacyTokenUses
}

function parsed<T>(
  { name, path }: { readonly name: string; readonly path: string },
  parse: (text: string) => T,
  files?: Files,
): T {
  const text = readFlagFile(name, path, files)
  try {
    return parse(text)
  } catch (error) {
    throw new StartError(`--${name}: ${path}: ${(error as Error).message}`, error)
  }
}

export interface ServiceAccountKeys {
  readonly verification: readonly VerificationKey[]
  /** Undefined without --service-account-signing-key-file. */
  readonly signing: ReturnType<typeof parseSigningKey> | undefined
}

/** Keys of service account tokens; without --service-account-key-file the serving key verifies, as upstream. */
export function serviceAccountKeys(options: ApiServerOptions, files?: Files): ServiceAccountKeys {
  const keyFiles = options['service-account-key-file']
  const verification = keyFiles.flatMap((path) =>
    parsed({ name: 'service-account-key-file', path }, parseVerificationKeys, files),
  )
  const signingFile = options['service-account-signing-key-file']
  const signing =
    signingFile === undefined
      ? undefined
      : parsed(
          { name: 'service-account-signing-key-file', path: signingFile },
          parseSigningKey,
          files,
        )
  const servingKey = options['tls-private-key-file']
  if (verification.length === 0 && servingKey !== undefined) {
    const file = { name: 'tls-private-key-file', path: servingKey }
    verification.push(...parsed(file, parseVerificationKeys))
  }
  return { verification, signing }
}

/** What several authenticators and the issuer need, from the flags. */
export interface Credentials {
  readonly keys: ServiceAccountKeys
  readonly issuerNames: readonly string[]
  readonly apiAudiences: readonly string[]
  readonly issuers: Issuers | undefined
}

/** The time limit of one review (upstream: the client's own). */
const tokenWebhookTimeoutMs = 30_000

/** The remote service that authenticates tokens; asked last, since it takes longest. */
async function openTokenWebhook(
  options: ApiServerOptions,
  { clock, dialect, dial }: TokenParts,
): Promise<TokenAuthenticator | undefined> {
  const path = options['authentication-token-webhook-config-file'] ?? ''
  if (path === '') return undefined
  const [{ createWebhookClient, webhookConnectionOf }, { tokenWebhookAuthenticator }] =
    await Promise.all([import('../egress/webhook-client.ts'), import('./token-webhook.ts')])
  try {
    const connection = await webhookConnectionOf(path)
    return tokenWebhookAuthenticator({
      client: createWebhookClient(connection, { clock, timeoutMs: tokenWebhookTimeoutMs, dial }),
      apiVersion: `${apiGroup(dialect, 'authentication')}/${options['authentication-token-webhook-version']}`,
      configuredAudiences: options['api-audiences'],
      cacheTtlMs: options['authentication-token-webhook-cache-ttl'],
      clock,
    })
  } catch (error) {
    throw new StartError(
      `--authentication-token-webhook-config-file: ${(error as Error).message}`,
      error,
    )
  }
}

/** Authenticators of bearer tokens, in the order in which they are asked. */
export async function tokenAuthenticators(
  options: ApiServerOptions,
  { parts, credentials }: { parts: TokenParts; credentials: Credentials },
): Promise<TokenAuthenticator[]> {
  const { keys, issuerNames, apiAudiences, issuers } = credentials
  const tokens: TokenAuthenticator[] = []
  const tokenFile = options['token-auth-file'] ?? ''
  if (tokenFile !== '') {
    const known = parsed({ name: 'token-auth-file', path: tokenFile }, parseStaticTokens)
    tokens.push(forOwnAudiences(staticTokenAuthenticator(known), apiAudiences))
  }
  if (keys.verification.length > 0) {
    tokens.push(
      askedAgain(
        serviceAccountTokenAuthenticator({
          keys: keys.verification,
          issuers: issuerNames,
          apiAudiences,
          lookup: options['service-account-lookup'],
          ...parts,
        }),
        parts.reader,
      ),
    )
  }
  if (options['enable-bootstrap-token-auth']) {
    const bootstrap = askedAgain(bootstrapTokenAuthenticator(parts), parts.reader)
    tokens.push(forOwnAudiences(bootstrap, apiAudiences))
  }
  // An identity token's own audience is the issuer's client; a TokenReview asks about this server's audiences.
  if (issuers !== undefined) tokens.push(forOwnAudiences(issuers, apiAudiences))
  const webhook = await openTokenWebhook(options, parts)
  if (webhook !== undefined) tokens.push(webhook)
  return tokens
}
