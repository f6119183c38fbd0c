/** A world for admission tests: a reader to fill, and requests through the chosen plugins as the registry sends them. */
import type { AdmissionRequest } from '../../../components/api-server/admission/admission.ts'
import { admissionPlugins } from '../../../components/api/admission-plugins.ts'
import { createAdmission } from '../../../components/api-server/admission/chain.ts'
import type { AdmissionDependencies } from '../../../components/api-server/admission/plugins.ts'
import type { Authorizer } from '../../../components/api-server/authz/authorizer.ts'
import { admissionWebhookMetrics } from '../../../components/api-server/admission/webhook/admission-webhook-metrics.ts'
import type { UserInfo } from '../../../components/api-server/request/request.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { defaultFeatureGates } from '../../../components/api/feature-gates.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { silentLog } from '../../../components/component-base/log.ts'
import { createMetrics } from '../../../components/component-base/metrics.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import type { Resource } from '../../../components/machinery/objects/resource.ts'
import { StatusError } from '../../../components/machinery/objects/status-error.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { FakeReader } from '../../support/fake-reader.ts'

export interface Asked extends Partial<Omit<AdmissionRequest, 'resource'>> {
  resource: Resource
}

const denyAll: Authorizer = {
  name: 'deny',
  authorize: () => ({ decision: 'no-opinion', reason: '' }),
}

/** What all plugins get in tests, with nothing there yet. */
export function admissionDependencies(
  given: Partial<AdmissionDependencies> & { readonly reader: FakeReader },
): AdmissionDependencies {
  const { dialect = dialects.kubernetes } = given
  const resources = resourcesOf(dialect)
  return {
    dialect,
    clock: new FakeClock(),
    authorizer: denyAll,
    checkEscalation: async () => {},
    resources,
    served: resources.all,
    gates: defaultFeatureGates,
    customKinds: () => [],
    client: { create: async () => {}, updateStatus: async () => {} },
    settings: {},
    egress: { cluster: undefined, controlplane: undefined },
    log: silentLog,
    webhookMetrics: admissionWebhookMetrics(createMetrics({ release: '1.32' })),
    ...given,
  }
}

/** Only the named plugins run. */
export function admissionWorld(
  plugins: readonly string[],
  options: { reader?: FakeReader } & Partial<Omit<AdmissionDependencies, 'reader' | 'clock'>> = {},
) {
  const { dialect = dialects.kubernetes, reader = new FakeReader() } = options
  const clock = new FakeClock()
  const dependencies = admissionDependencies({ ...options, reader, dialect, clock })
  const others = admissionPlugins.filter((name) => !plugins.includes(name))
  const admission = createAdmission({ enable: plugins, disable: others }, dependencies)

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

  const resources = resourcesOf(dialect)
  return { dialect, reader, clock, resources, admit, outcome }
}

export function nodeAgent(name: string): UserInfo {
  return { name: `system:node:${name}`, groups: ['system:nodes', 'system:authenticated'] }
}
