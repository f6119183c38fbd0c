/** Pod security policies of namespace labels (upstream: pod-security-admission/api). */
import { labelKey, type Dialect } from '../../../api/dialect.ts'
import { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { FieldError } from '../../../machinery/objects/status-error.ts'

/** From the most permissive to the most restricted. */
export const levels = ['privileged', 'baseline', 'restricted'] as const
export type Level = (typeof levels)[number]

export interface LevelVersion {
  readonly level: Level
  /** The minor release whose rules apply; Infinity for `latest`. */
  readonly minor: number
}

export interface Policy {
  readonly enforce: LevelVersion
  readonly audit: LevelVersion
  readonly warn: LevelVersion
}

const permissive: LevelVersion = { level: 'privileged', minor: Infinity }
const permissivePolicy: Policy = {
  enforce: permissive,
  audit: permissive,
  warn: permissive,
}

/** `restricted:latest`, `baseline:v1.24`. */
export function policyText({ level, minor }: LevelVersion): string {
  return `${level}:${minor === Infinity ? 'latest' : `v1.${minor}`}`
}

export function isSamePolicy(a: LevelVersion, b: LevelVersion): boolean {
  return a.level === b.level && a.minor === b.minor
}

/** Above 0 when `a` is more restricted than `b`. */
export function compareLevels(a: Level, b: Level): number {
  return levels.indexOf(a) - levels.indexOf(b)
}

/** Defaults of namespaces without labels, and exemptions. */
export interface PodSecurityRules {
  readonly defaults: Policy
  readonly usernames: ReadonlySet<string>
  readonly namespaces: ReadonlySet<string>
  readonly runtimeClasses: ReadonlySet<string>
}

/** Privileged, without exemptions. */
export const usualRules: PodSecurityRules = {
  defaults: permissivePolicy,
  usernames: new Set(),
  namespaces: new Set(),
  runtimeClasses: new Set(),
}

/** A policy without its privileged levels: `enforce=baseline:latest, warn=restricted:v1.24`. */
export function shortPolicyText(policy: Policy): string {
  return (['enforce', 'audit', 'warn'] as const)
    .filter((mode) => policy[mode].level !== 'privileged')
    .map((mode) => `${mode}=${policyText(policy[mode])}`)
    .join(', ')
}

export function parseLevel(text: string): Level | undefined {
  return levels.find((level) => level === text)
}

export function parseMinor(text: string): number | undefined {
  if (text === 'latest') return Infinity
  const minor = /^v1\.(0|[1-9][0-9]*)$/.exec(text)?.[1]
  return minor === undefined ? undefined : Number(minor)
}

export interface PolicyLabels {
  readonly enforce: string
  readonly audit: string
  readonly warn: string
}

export function policyLabels(dialect: Dialect): PolicyLabels {
  const label = (mode: string) => labelKey(dialect, 'pod-security', mode)
  return { enforce: label('enforce'), audit: label('audit'), warn: label('warn') }
}

/**
 * The policy of a namespace's labels, and their errors. An invalid enforce level counts as restricted, other invalid levels
 * as privileged.
 */
export function policyOf(
  labels: Readonly<Record<string, string>> | undefined,
  names: PolicyLabels,
  defaults: Policy = permissivePolicy,
): { readonly policy: Policy; readonly errors: readonly FieldError[] } {
  if (labels === undefined) return { policy: defaults, errors: [] }
  const at = FieldPath.root('metadata').child('labels')
  const given = { enforce: false, enforceIsValid: false, warn: false, warnVersion: false }
  const read = (mode: keyof PolicyLabels): LevelVersion => {
    const levelText = labels[names[mode]]
    const versionText = labels[`${names[mode]}-version`]
    let { level, minor } = defaults[mode]
    if (levelText !== undefined) {
      const parsed = parseLevel(levelText)
      level = parsed ?? (mode === 'enforce' ? 'restricted' : 'privileged')
      if (parsed === undefined) {
        at.key(names[mode]).invalid(levelText, `must be one of ${levels.join(', ')}`)
      }
      if (mode === 'enforce') given.enforceIsValid = parsed !== undefined
      if (mode === 'warn') given.warn = true
    }
    if (versionText !== undefined) {
      const parsed = parseMinor(versionText)
      minor = parsed ?? Infinity
      if (parsed === undefined) {
        at.key(`${names[mode]}-version`).invalid(versionText, 'must be "latest" or "v1.x"')
      }
      if (mode === 'warn') given.warnVersion = true
    }
    return { level, minor }
  }
  const [enforce, audit] = [read('enforce'), read('audit')]
  let warn = read('warn')
  // Without a warn level, the enforce level warns, so that controllers of rejected Pods get warnings, too.
  if (!given.warn && given.enforceIsValid && compareLevels(enforce.level, warn.level) > 0) {
    warn = { level: enforce.level, minor: given.warnVersion ? warn.minor : enforce.minor }
  }
  return { policy: { enforce, audit, warn }, errors: at.errors }
}
