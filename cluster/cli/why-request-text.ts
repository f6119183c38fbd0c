/** Explanations as text. Control characters in texts from clients are escaped. */
import type {
  AccessExplanation,
  DeniedExplanations,
  DeniedRequest,
  ExplainedAttributes,
  ExplainedUser,
  Opinion,
  TokenExplanation,
  Trial,
} from '../../components/api/explanations.ts'
import type { PolicyRule } from '../../components/api/generated/types.ts'
import { formatYaml } from '../yaml.ts'
import { shortDuration, styled, table } from './terminal.ts'

export interface Shown {
  readonly colors: boolean
  readonly nowMs: number
}

/** Escapes control characters: a terminal obeys them, and any client can send these texts. */
export function plain(text: string): string {
  return text.replaceAll(
    // oxlint-disable-next-line no-control-regex -- they are what is looked for
    /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

const named = ({ kind, namespace, name }: { kind: string; namespace?: string; name: string }) =>
  `${kind} ${namespace === undefined ? name : `${namespace}/${name}`}`

function ruleText({ verbs, resources, apiGroups, resourceNames, nonResourceURLs }: PolicyRule) {
  const what = nonResourceURLs?.length
    ? nonResourceURLs.join(',')
    : (resources ?? [])
        .map((one) => {
          const groups = (apiGroups ?? []).filter((group) => group !== '')
          return groups.length === 0 ? one : `${one} in ${groups.join(',')}`
        })
        .join(', ')
  const names = resourceNames?.length ? ` named ${resourceNames.join(',')}` : ''
  return `${verbs.join(',')} ${what}${names}`
}

/** The reasons of an opinion, the most specific first. */
function linesOf({ opinion, reason, evaluationError, detail = {} }: Opinion): string[] {
  const { grants = [], rule, way, otherWays = [], missing, call, policy } = detail
  const found = grants.flatMap(({ binding, role, subject, rules }) => [
    `${named(binding)} gives ${named(role)} to ${subject.kind} ${subject.name}`,
    ...rules.map((one) => `  ${ruleText(one)}`),
  ])
  const lines = [
    ...found,
    ...(rule === undefined ? [] : [`all node agents may: ${ruleText(rule)}`]),
    ...(way === undefined ? [] : [[`node ${way.node}`, ...way.path].join(' > ')]),
    ...(policy === undefined ? [] : [`policy ${JSON.stringify(policy)}`]),
    // The binding says the same as the reason, in a form of its own.
    ...(reason === undefined || grants.length > 0 ? [] : reason.split('\n')),
    ...(missing === undefined ? [] : [missing]),
    ...otherWays.map(({ node, path }) => `but: ${[`node ${node}`, ...path].join(' > ')}`),
    ...(call === undefined ? [] : [call]),
    ...(evaluationError === undefined ? [] : [`error: ${evaluationError}`]),
  ]
  return lines.length > 0 || opinion === 'not-asked' ? lines.map(plain) : ['-']
}

const opinionNames = {
  allow: 'allows',
  deny: 'denies',
  'no-opinion': 'no opinion',
  'not-asked': 'not asked',
} as const

function opinionTable(opinions: readonly Opinion[]): string {
  const rows = opinions.flatMap((one) => {
    const [first = '', ...more] = linesOf(one)
    return [
      [plain(one.name), one.type, opinionNames[one.opinion], first],
      ...more.map((line) => ['', '', '', line]),
    ]
  })
  return table([['AUTHORIZER', 'TYPE', 'OPINION', 'WHY'], ...rows])
}

function whatIsAsked(asked: ExplainedAttributes): string {
  const { verb, group, resource, subresource, namespace, name, path } = asked
  if (!asked.isResourceRequest) return `${verb} ${path}`
  const type = [group === '' ? resource : `${resource}.${group}`, subresource]
    .filter((part) => part !== '')
    .join('/')
  const one = name === '' ? type : `${type} ${name}`
  return `${verb} ${one} ${namespace === '' ? 'at the cluster scope' : `in namespace ${namespace}`}`
}

function userLines({ name, groups, uid }: ExplainedUser): string[][] {
  return [
    ['user', plain(name) || '(no name)'],
    ['groups', groups.map(plain).join(', ') || '(none)'],
    ...(uid === undefined ? [] : [['uid', plain(uid)]]),
  ]
}

function verdict(isGood: boolean, words: readonly [good: string, bad: string], { colors }: Shown) {
  return isGood ? styled(words[0], 'green', colors) : styled(words[1], 'red', colors)
}

export function accessText(explanation: AccessExplanation, shown: Shown): string {
  const { allowed, attributes, authorizers, wouldAllow = [] } = explanation
  const head = `${verdict(allowed, ['Allowed', 'Denied'], shown)}: ${plain(whatIsAsked(attributes))}`
  const remedy =
    wouldAllow.length === 0
      ? ''
      : `\nTo allow exactly this:\n\n${wouldAllow.map((one) => formatYaml(one)).join('---\n')}`
  return `${head}\n${table(userLines(attributes.user))}\n${opinionTable(authorizers)}${remedy}`
}

const trialNames = { user: 'accepts', none: 'not its own', failed: 'rejects' } as const

function trialTable(trials: readonly Trial[]): string {
  const rows = trials.map(({ name, result, why = '-' }) => [
    name,
    trialNames[result],
    plain(result === 'user' ? '-' : why),
  ])
  return table([['AUTHENTICATOR', 'RESULT', 'WHY'], ...rows])
}

function timeText(seconds: number, nowMs: number): string {
  const at = new Date(seconds * 1000)
  if (Number.isNaN(at.getTime())) return String(seconds)
  const ms = seconds * 1000 - nowMs
  const away = ms < 0 ? `${shortDuration(-ms)} ago` : `in ${shortDuration(ms)}`
  return `${at.toISOString().replace('.000Z', 'Z')} (${away})`
}

/** Claims have any type. */
function valueText(value: unknown): string {
  return plain(typeof value === 'string' ? value : (JSON.stringify(value) ?? '-'))
}

function claimRows(claims: Readonly<Record<string, unknown>>, nowMs: number): string[][] {
  return Object.entries(claims).map(([name, value]) => {
    const isTime = ['exp', 'nbf', 'iat', 'auth_time'].includes(name) && typeof value === 'number'
    return [plain(name), isTime ? timeText(value, nowMs) : valueText(value)]
  })
}

function contentText({ token }: TokenExplanation, nowMs: number): string {
  switch (token.form) {
    case 'opaque':
      return `An opaque token of ${token.length} characters\n`
    case 'bootstrap token':
      return `A bootstrap token with the id ${token.id}\n`
    case 'jwt': {
      const { alg, kid } = token.header
      const header = [
        ['alg', valueText(alg)],
        ...(kid === undefined ? [] : [['kid', valueText(kid)]]),
      ]
      return table([['CLAIM', 'VALUE'], ...header, ...claimRows(token.claims, nowMs)])
    }
  }
}

export function tokenText(explanation: TokenExplanation, shown: Shown): string {
  const { authenticated, user, audiences = [], reason = '', authenticators } = explanation
  const head = verdict(authenticated, ['Accepted', 'Rejected'], shown)
  const who =
    user === undefined
      ? `${head}: ${plain(reason)}\n`
      : `${head}: ${plain(user.name)}\n${table([
          ...userLines(user),
          ...(audiences.length === 0 ? [] : [['audiences', audiences.map(plain).join(', ')]]),
        ])}`
  return `${who}\n${trialTable(authenticators)}\n${contentText(explanation, shown.nowMs)}`
}

function admissionText(by: NonNullable<DeniedRequest['admission']>, reason: string): string {
  const { user, plugin, policy, binding, webhook } = by
  const rows = [
    ['user', user || '(no name)'],
    ['plugin', plugin],
    ...(policy === undefined ? [] : [['policy', policy]]),
    ...(binding === undefined ? [] : [['binding', binding]]),
    ...(webhook === undefined ? [] : [['webhook', webhook]]),
  ]
  return `Rejected by admission: ${plain(reason)}\n${table(rows.map((row) => row.map(plain)))}`
}

export function deniedText({ items }: DeniedExplanations, shown: Shown): string {
  if (items.length === 0) return 'No request has been denied\n'
  const texts = items.map((one) => {
    const { status, method, path, count, remoteAddress, requestId, explanation } = one
    const times = count === 1 ? '' : `, ${count} times`
    const ago = shortDuration(Math.max(0, shown.nowMs - Date.parse(one.time)))
    const head = `${styled(`${status} ${method} ${plain(path)}`, 'bold', shown.colors)}  ${ago} ago${times}, from ${plain(remoteAddress)}, id ${requestId}\n`
    if (one.authenticators !== undefined) {
      return `${head}Rejected: ${plain(one.reason)}\n\n${trialTable(one.authenticators)}`
    }
    if (one.admission !== undefined) return `${head}${admissionText(one.admission, one.reason)}`
    if (explanation === undefined) return `${head}${plain(one.reason)}\n`
    const since = explanation.allowed ? 'It would be allowed now.\n' : ''
    return `${head}${since}${accessText(explanation, shown)}`
  })
  return texts.join(`\n${'-'.repeat(40)}\n\n`)
}
