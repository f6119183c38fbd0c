/** A world of mutating policies, and objects for them to change. */
import type { Authorizer } from '../../../components/api-server/authz/authorizer.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { defaultFeatureGates } from '../../../components/api/feature-gates.ts'
import type {
  MutatingAdmissionPolicySpec,
  Mutation,
} from '../../../components/api/mutating-policy.ts'
import { objectKindOf } from '../../../components/api/object-kind.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import type { Resource } from '../../../components/machinery/objects/resource.ts'
import { StatusError } from '../../../components/machinery/objects/status-error.ts'
import { FakeReader } from '../../support/fake-reader.ts'
import { admissionWorld, type Asked } from './world.ts'

export const resources = resourcesOf(dialects.kubernetes)
const { deployments, namespaces } = resources

export const apply = (expression: string): Mutation => ({
  patchType: 'ApplyConfiguration',
  applyConfiguration: { expression },
})
export const jsonPatch = (expression: string): Mutation => ({
  patchType: 'JSONPatch',
  jsonPatch: { expression },
})

type Given = Partial<MutatingAdmissionPolicySpec> & { name?: string; binding?: object }

/** What a policy matches unless it says otherwise. */
export const everything = {
  matchPolicy: 'Equivalent',
  namespaceSelector: {},
  objectSelector: {},
  resourceRules: [
    { operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*', '*/*'] },
  ],
}

const oneUserMay: Authorizer = {
  name: 'x',
  authorize: ({ user, verb }) => ({
    decision: user.name === 'jane' && verb === 'create' ? 'allow' : 'deny',
    reason: '',
  }),
}

export function world(
  policies: readonly Given[],
  more: { gate?: boolean; served?: readonly Resource[] } = {},
) {
  const reader = new FakeReader()
  const gates = { ...defaultFeatureGates, MutatingAdmissionPolicy: more.gate ?? true }
  const of = admissionWorld(['MutatingAdmissionPolicy'], {
    reader,
    gates,
    authorizer: oneUserMay,
    ...(more.served && { served: more.served }),
  })
  reader.put(namespaces, { metadata: { name: 'default', labels: { tier: 'web' } } })
  for (const [i, { name = `p${i}`, binding = {}, ...spec }] of policies.entries()) {
    reader.put(resources.mutatingAdmissionPolicies, {
      metadata: { name },
      spec: {
        matchConstraints: everything,
        reinvocationPolicy: 'Never',
        failurePolicy: 'Fail',
        ...spec,
      },
    })
    reader.put(resources.mutatingAdmissionPolicyBindings, {
      metadata: { name: `${name}-binding` },
      spec: { policyName: name, ...binding },
    })
  }
  const context = { info: {}, annotations: {} } as unknown as NonNullable<Asked['context']>
  const admit = (asked: Asked) => of.admit({ context, ...asked })
  /** The object as the policies leave it, or the refusal's message. */
  const result = async (asked: Asked): Promise<unknown> => {
    try {
      return await admit(asked)
    } catch (error) {
      if (error instanceof StatusError) return error.message
      throw error
    }
  }
  return { reader, admit, result }
}

/** In the form that the server gives every body. */
export const deployment = (spec: object, metadata: object = {}): KubeObject =>
  objectKindOf(deployments).decode(
    {
      kind: 'Deployment',
      apiVersion: 'apps/v1',
      metadata: { name: 'd1', namespace: 'default', ...metadata },
      spec: { selector: {}, template: { metadata: {}, spec: { containers: [] } }, ...spec },
    },
    { report: false },
  ).object
export const containers = (...names: string[]) => ({
  template: { metadata: {}, spec: { containers: names.map((name) => ({ name })) } },
})
export const inTemplate = (spec: object) => ({
  template: { metadata: {}, spec: { containers: [], ...spec } },
})
