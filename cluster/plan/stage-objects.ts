/** What the stage runner may do: a role of its own that covers the kinds of its stages, and no more. */
import { stageRunnerSubject } from '../../certs/profiles.ts'
import { apiGroup } from '../../components/api/dialect.ts'
import type { Dialect } from '../../components/api/dialect.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { apiVersionOf } from '../../components/machinery/objects/resource.ts'
import type { KindRef, Stage, StageStep } from '../../components/stage-runner/stage.ts'
import type { PlacedObject } from './join-objects.ts'

interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
  readonly resourceNames?: readonly string[]
}

const groupOf = ({ apiVersion }: KindRef): string =>
  apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''

/** The plural of a built-in kind. That of another is not known before its definition is there: all of its group. */
function pluralOf(ref: KindRef, dialect: Dialect): string | undefined {
  return resourcesOf(dialect).all.find(
    (one) => one.kind === ref.kind && apiVersionOf(one) === ref.apiVersion,
  )?.plural
}

function ruleFor(
  ref: KindRef,
  {
    dialect,
    subresource,
    verbs,
  }: { dialect: Dialect; subresource?: string | undefined; verbs: readonly string[] },
): Rule {
  const plural = pluralOf(ref, dialect)
  const resource = subresource === undefined ? plural : plural && `${plural}/${subresource}`
  return { apiGroups: [groupOf(ref)], resources: [resource ?? '*'], verbs }
}

function rulesOfStep(step: StageStep, stage: Stage, dialect: Dialect): readonly Rule[] {
  const { resource } = stage
  switch (step.kind) {
    case 'event':
      return [{ apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] }]
    case 'finalizers':
      return [ruleFor(resource, { dialect, verbs: ['patch'] })]
    case 'delete':
      return [ruleFor(resource, { dialect, verbs: ['delete'] })]
    case 'patch': {
      if (step.user !== undefined) return [impersonate(step.user)]
      return [ruleFor(resource, { dialect, subresource: step.subresource, verbs: ['patch'] })]
    }
    case 'apply': {
      if (step.user !== undefined) return [impersonate(step.user)]
      const { subresource, target } = step
      const verbs = subresource === undefined ? ['create', 'patch'] : ['patch']
      return [ruleFor(target, { dialect, subresource, verbs })]
    }
  }
}

function impersonate(user: string): Rule {
  return { apiGroups: [''], resources: ['users'], verbs: ['impersonate'], resourceNames: [user] }
}

/** Each rule once. */
function unique(rules: readonly Rule[]): Rule[] {
  return [...new Map(rules.map((rule) => [JSON.stringify(rule), rule])).values()]
}

/** The role of the stage runner, the one for the leases of fake nodes, and their bindings. */
export function stageObjects(dialect: Dialect, stages: readonly Stage[]): PlacedObject[] {
  const resources = resourcesOf(dialect)
  const rbac = apiGroup(dialect, 'rbac.authorization')
  const { commonName: name } = stageRunnerSubject
  const read = ['get', 'list', 'watch']
  const rules = unique([
    { apiGroups: [''], resources: ['nodes'], verbs: read },
    ...stages.map(({ resource }) => ruleFor(resource, { dialect, verbs: read })),
    ...stages.flatMap((stage) => stage.steps.flatMap((step) => rulesOfStep(step, stage, dialect))),
  ])
  const leases = {
    apiGroups: [apiGroup(dialect, 'coordination')],
    resources: ['leases'],
    verbs: ['create', 'patch'],
  }
  const subjects = [{ apiGroup: rbac, kind: 'User', name }]
  const roleRef = (kind: string) => ({ apiGroup: rbac, kind, name })
  const metadata = { name, namespace: dialect.nodeLeaseNamespace }
  return [
    { resource: resources.clusterRoles, object: { metadata: { name }, rules } },
    {
      resource: resources.clusterRoleBindings,
      object: { metadata: { name }, roleRef: roleRef('ClusterRole'), subjects },
    },
    { resource: resources.roles, object: { metadata, rules: [leases] } },
    { resource: resources.roleBindings, object: { metadata, roleRef: roleRef('Role'), subjects } },
  ]
}
