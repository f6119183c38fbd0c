/** PodSecurityConfiguration: defaults of namespaces without labels, and exemptions (upstream: pod-security-admission/admission/api). */
import { apiGroup, type Dialect } from '../../../api/dialect.ts'
import { FieldPath } from '../../../machinery/validation/field-path.ts'
import { objectName, type NameForm } from '../../../machinery/validation/names.ts'
import {
  levels,
  parseLevel,
  parseMinor,
  type LevelVersion,
  type PodSecurityRules,
} from './policy.ts'
import { document, list, struct, text } from '../../../machinery/configuration/config-schema.ts'
import {
  readConfiguration,
  refuseFieldErrors,
} from '../../../machinery/configuration/read-configuration.ts'

const modes = ['enforce', 'warn', 'audit'] as const

const schema = document('PodSecurityConfiguration', {
  defaults: struct(
    'PodSecurityDefaults',
    Object.fromEntries(
      modes.flatMap((mode) => [
        [mode, text],
        [`${mode}-version`, text],
      ]),
    ),
  ),
  exemptions: struct('PodSecurityExemptions', {
    usernames: list(text),
    namespaces: list(text),
    runtimeClasses: list(text),
  }),
})

interface RawConfiguration {
  readonly defaults?: Readonly<Record<string, string>>
  readonly exemptions?: {
    readonly usernames?: readonly string[]
    readonly namespaces?: readonly string[]
    readonly runtimeClasses?: readonly string[]
  }
}

function checkNames(names: readonly string[], at: FieldPath, form: NameForm | undefined): void {
  const seen = new Set<string>()
  for (const [i, name] of names.entries()) {
    const faults = form === undefined ? [] : objectName(name, form)
    if (faults.length > 0) at.index(i).invalid(name, faults.join(', '))
    else if (form === undefined && name === '') {
      at.index(i).invalid(name, 'username must not be empty')
    } else if (seen.has(name)) at.index(i).duplicate(name)
    seen.add(name)
  }
}

/** Throws ConfigurationError. */
export function parsePodSecurityConfiguration(source: string, dialect: Dialect): PodSecurityRules {
  const { defaults = {}, exemptions = {} } = readConfiguration<RawConfiguration>(source, {
    kind: 'PodSecurityConfiguration',
    group: apiGroup(dialect, 'pod-security.admission.config'),
    versions: ['v1', 'v1beta1', 'v1alpha1'],
    schema,
  })
  const at = FieldPath.root('defaults')
  const read = (mode: (typeof modes)[number]): LevelVersion => {
    const levelText = defaults[mode] || 'privileged'
    const versionText = defaults[`${mode}-version`] || 'latest'
    const [level, minor] = [parseLevel(levelText), parseMinor(versionText)]
    if (level === undefined) {
      at.child(mode).invalid(levelText, `must be one of ${levels.join(', ')}`)
    }
    if (minor === undefined) {
      at.child(`${mode}-version`).invalid(versionText, 'must be "latest" or "v1.x"')
    }
    return { level: level ?? 'privileged', minor: minor ?? Infinity }
  }
  const policy = { enforce: read('enforce'), warn: read('warn'), audit: read('audit') }
  const exempt = FieldPath.root('exemptions')
  const { usernames = [], namespaces = [], runtimeClasses = [] } = exemptions
  checkNames(namespaces, exempt.child('namespaces'), 'label')
  checkNames(runtimeClasses, exempt.child('runtimeClasses'), 'subdomain')
  checkNames(usernames, exempt.child('usernames'), undefined)
  refuseFieldErrors([...at.errors, ...exempt.errors])
  return {
    defaults: policy,
    usernames: new Set(usernames),
    namespaces: new Set(namespaces),
    runtimeClasses: new Set(runtimeClasses),
  }
}
