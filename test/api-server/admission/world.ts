/** A world for admission tests: a reader to fill, and requests through the chosen plugins as the registry sends them. */
import type { AdmissionRequest } from '../../../components/api-server/admission/admission.ts'
import { createAdmission } from '../../../components/api-server/admission/chain.ts'
import type { Authorizer } from '../../../components/api-server/authz/authorizer.ts'
import type { UserInfo } from '../../../components/api-server/request.ts'
import type { Dialect } from '../../../components/api/dialect.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import type { KubeObject } from '../../../components/machinery/object.ts'
import type { Resource } from '../../../components/machinery/resource.ts'
import { StatusError } from '../../../components/machinery/status-error.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { FakeReader } from '../../support/fake-reader.ts'

export interface Asked extends Partial<Omit<AdmissionRequest, 'resource'>> {
  resource: Resource
}

const denyAll: Authorizer = {
  name: 'deny',
  authorize: () => ({ decision: 'no-opinion', reason: '' }),
}

/** Only the named plugins run. */
export function admissionWorld(
  plugins: readonly string[],
  options: { dialect?: Dialect; authorizer?: Authorizer } = {},
) {
  const { dialect = dialects.kubernetes, authorizer = denyAll } = options
  const reader = new FakeReader()
  const clock = new FakeClock()
  const dependencies = { reader, dialect, clock, authorizer, checkEscalation: async () => {} }
  const all = createAdmission({ enable: ['NodeRestriction'] }, dependencies).plugins
  const admission = createAdmission(
    {
      enable: plugins.filter((name) => name === 'NodeRestriction'),
      disable: all.filter((name) => !plugins.includes(name)),
    },
    dependencies,
  )

  /** Resolves with the object as the plugins leave it. Rejects as they refuse. */
  async function admit(asked: Asked): Promise<KubeObject | undefined> {
    const object = asked.object === undefined ? undefined : structuredClone(asked.object)
    const request: AdmissionRequest = {
      operation: 'CREATE',
      subresource: '',
      namespace: object?.metadata.namespace ?? '',
      name: object?.metadata.name ?? '',
      old: undefined,
      user: { name: 'jane', groups: [] },
      dryRun: false,
      warnings: [],
      ...asked,
      object,
    }
    await admission.mutate(request)
    await admission.validate(request)
    return object
  }

  /** The error's code and message, or 'admitted'. */
  async function outcome(asked: Asked): Promise<string> {
    try {
      await admit(asked)
      return 'admitted'
    } catch (error) {
      if (!(error instanceof StatusError)) throw error
      return `${error.code} ${error.message}`
    }
  }

  return { dialect, reader, clock, resources: resourcesOf(dialect), admit, outcome }
}

export function nodeAgent(name: string): UserInfo {
  return { name: `system:node:${name}`, groups: ['system:nodes', 'system:authenticated'] }
}
