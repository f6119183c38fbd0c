/** The page of the API: groups, versions and kinds, and the versions that are not served any more. */
import { apiGroup, dialects } from '../../components/api/dialect.ts'
import { compareReleases, servedRelease } from '../../components/api/lifecycle.ts'
import { formerVersions } from '../../components/api/lifecycles/former-versions.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import type { Resource } from '../../components/machinery/objects/resource.ts'
import { apiVersionOf } from '../../components/machinery/objects/resource.ts'
import { allVerbs } from '../../components/api/group-table.ts'
import { code, codes, page, table } from './markdown.ts'

const resources = resourcesOf(dialects.kubernetes)

/** `rbac/v1beta1 Role` -> `rbac.authorization.k8s.io/v1beta1 Role`. */
function inGroupNames(text: string): string {
  const slash = text.indexOf('/')
  const name = text.slice(0, slash)
  const known = resources.all.find((one) => one.package.startsWith(`${name}/`))
  return `${known?.group ?? apiGroup(dialects.kubernetes, name)}${text.slice(slash)}`
}

function verbText(verbs: readonly string[]): string {
  return allVerbs.every((verb) => verbs.includes(verb)) ? 'all' : codes(verbs)
}

function kindRow(resource: Resource): string[] {
  const { kind, plural, shortNames, namespaced, verbs, subresources, lifecycle } = resource
  const names = shortNames.length === 0 ? '' : ` (${codes(shortNames)})`
  return [
    kind,
    code(plural) + names,
    namespaced ? 'namespace' : 'cluster',
    verbText(verbs),
    codes(subresources.map(({ name }) => name)),
    lifecycle.introduced,
    lifecycle.deprecated ?? '–',
    lifecycle.removed ?? '–',
    lifecycle.replacement === undefined ? '–' : code(lifecycle.replacement),
  ]
}

const head = [
  'kind',
  'resource',
  'scope',
  'verbs',
  'subresources',
  'since',
  'deprecated',
  'removed',
  'replacement',
]

function groupVersionSection(group: string, version: string): string[] {
  const members = resources.all.filter((one) => one.group === group && one.version === version)
  const [first] = members
  if (first === undefined) return []
  const apiVersion = apiVersionOf(first)
  const off = first.servedByDefault
    ? ''
    : ` Off by default: \`--runtime-config=${apiVersion}=true\`.`
  const fields = members
    .filter(({ selectableFields }) => selectableFields.length > 0)
    .map(({ kind, selectableFields }) => `${kind}: ${codes(selectableFields)}`)
  return [
    `## ${apiVersion}`,
    ...(off === '' ? [] : [off]),
    table(head, members.map(kindRow)),
    ...(fields.length === 0
      ? []
      : [`Selectable fields besides name and namespace: ${fields.join('; ')}.`]),
  ]
}

export function apiPage(): string {
  // The core group, whose name is empty, comes first.
  const groups = resources.groups.toSorted((a, b) => Number(a.name !== '') - Number(b.name !== ''))
  const sections = groups.flatMap(({ name, versions }) =>
    versions.flatMap(({ version }) => groupVersionSection(name, version)),
  )
  return page(
    'API groups, versions and kinds',
    `The API is that of Kubernetes ${servedRelease}. Releases are those in which a version of a kind came, was deprecated and is removed; ` +
      'a version that is deprecated answers with a warning. `all` verbs are ' +
      `${codes(allVerbs)}. Custom resources and aggregated APIs come on top.`,
    'Stable versions are on by default; alpha and beta versions are switched on with `--runtime-config`.',
    ...sections,
    '[What acts on each kind](kinds.md) is a page of its own.',
    '## Versions that are not served',
    `Release ${servedRelease} does not serve these versions. \`skiff convert\` converts manifests.`,
    table(
      ['version', 'kind', 'since', 'deprecated', 'removed', 'replacement'],
      formerVersions
        .filter(
          ({ removed }) => removed !== undefined && compareReleases(removed, servedRelease) <= 0,
        )
        .map((one) => [
          code(inGroupNames(one.groupVersion)),
          one.kind,
          one.introduced,
          one.deprecated ?? '–',
          one.removed ?? '–',
          one.replacement === undefined ? '–' : code(inGroupNames(one.replacement)),
        ]),
    ),
  )
}
