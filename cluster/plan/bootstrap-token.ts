/** Bootstrap tokens and their Secrets (upstream: cluster-bootstrap/token). */
import { labelKey } from '../../components/api/dialect.ts'
import type { Dialect } from '../../components/api/dialect.ts'
import type { Clock } from '../../components/component-base/clock.ts'
import { timestamp } from '../../components/component-base/clock.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { ClusterError } from '../cluster-error.ts'

export interface BootstrapToken {
  readonly id: string
  readonly secret: string
}

const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789'

/** A word of the token alphabet; bytes that would favour some letters are dropped. */
function randomWord(length: number, clock: Pick<Clock, 'randomBytes'>): string {
  const limit = 256 - (256 % alphabet.length)
  let word = ''
  while (word.length < length) {
    for (const byte of clock.randomBytes(2 * length)) {
      if (byte < limit && word.length < length) word += alphabet[byte % alphabet.length]
    }
  }
  return word
}

export function createBootstrapToken(clock: Pick<Clock, 'randomBytes'>): BootstrapToken {
  return { id: randomWord(6, clock), secret: randomWord(16, clock) }
}

export function formatToken({ id, secret }: BootstrapToken): string {
  return `${id}.${secret}`
}

/** `id.secret`; the message of the error never repeats what was given. */
export function parseToken(text: string): BootstrapToken {
  const match = /^([a-z0-9]{6})\.([a-z0-9]{16})$/.exec(text.trim())
  if (match === null) {
    throw new ClusterError('usage', 'invalid bootstrap token', {
      hint: 'a token is 6 lower-case letters or digits, a dot, and 16 more',
    })
  }
  return { id: match[1] ?? '', secret: match[2] ?? '' }
}

/** The group whose tokens nodes may join with; the name is kubeadm's. */
export const nodeTokenGroup = 'system:bootstrappers:kubeadm:default-node-token'

export interface TokenSecretOptions {
  readonly token: BootstrapToken
  readonly dialect: Dialect
  readonly nowMs: number
  /** Undefined: it never expires. */
  readonly ttlMs?: number | undefined
  readonly description?: string | undefined
  /** `authentication` lets agents log in with it, `signing` puts its signature on cluster-info. */
  readonly usages?: readonly ('authentication' | 'signing')[]
  /** Groups beyond `system:bootstrappers`, each beginning with `system:bootstrappers:`; by default the one that nodes join by. */
  readonly extraGroups?: readonly string[]
}

/** The Secret of a token, ready to be created. */
export function tokenSecret(options: TokenSecretOptions): KubeObject {
  const { token, dialect, nowMs, ttlMs, description, extraGroups = [nodeTokenGroup] } = options
  const usages = options.usages ?? ['authentication', 'signing']
  const fields = {
    'token-id': token.id,
    'token-secret': token.secret,
    ...(description === undefined ? {} : { description }),
    ...(ttlMs === undefined ? {} : { expiration: timestamp(nowMs + ttlMs) }),
    ...Object.fromEntries(usages.map((usage) => [`usage-bootstrap-${usage}`, 'true'])),
    ...(extraGroups.length === 0 ? {} : { 'auth-extra-groups': extraGroups.join(',') }),
  }
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: `bootstrap-token-${token.id}`, namespace: dialect.systemNamespace },
    type: labelKey(dialect, 'bootstrap', 'token'),
    data: Object.fromEntries(
      Object.entries(fields).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
    ),
  }
}
