import { describe, expect, test } from 'vitest'
import type {
  AdmissionPlugin,
  AdmissionRequest,
} from '../../../components/api-server/admission/admission.ts'
import { roundsOf } from '../../../components/api-server/admission/reinvocation.ts'
import { admissionChain, createAdmission } from '../../../components/api-server/admission/chain.ts'
import { refusalOf } from '../../../components/api-server/request/refusal.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { forbidden } from '../../../components/machinery/objects/status-error.ts'
import { FakeReader } from '../../support/fake-reader.ts'
import { admissionDependencies } from './world.ts'

const dependencies = admissionDependencies({
  reader: new FakeReader(),
  authorizer: { name: 'x', authorize: () => ({ decision: 'allow', reason: '' }) },
  checkEscalation: async ({ object }) => {
    if (object['rules']) throw forbidden({ group: '', plural: 'x' }, 'y', 'escalation')
  },
})
const plugins = (flags: Parameters<typeof createAdmission>[0]): readonly string[] =>
  createAdmission(flags, dependencies).plugins

describe('the admission flags', () => {
  test("upstream's default set runs, in its order", () => {
    expect(plugins({})).toEqual([
      'NamespaceLifecycle',
      'LimitRanger',
      'ServiceAccount',
      'TaintNodesByCondition',
      'PodSecurity',
      'Priority',
      'DefaultTolerationSeconds',
      'DefaultStorageClass',
      'StorageObjectInUseProtection',
      'PersistentVolumeClaimResize',
      'RuntimeClass',
      'CertificateApproval',
      'CertificateSigning',
      'ClusterTrustBundleAttest',
      'CertificateSubjectRestriction',
      'DefaultIngressClass',
      'MutatingAdmissionPolicy',
      'MutatingAdmissionWebhook',
      'ValidatingAdmissionPolicy',
      'ValidatingAdmissionWebhook',
      'ResourceQuota',
    ])
  })

  test('all others run in their places once they are enabled', () => {
    const others = [
      'AlwaysAdmit',
      'NamespaceAutoProvision',
      'NamespaceExists',
      'LimitPodHardAntiAffinityTopology',
      'NodeRestriction',
      'AlwaysPullImages',
      'PodNodeSelector',
      'PodTolerationRestriction',
      'ExtendedResourceToleration',
      'OwnerReferencesPermissionEnforcement',
      'DenyServiceExternalIPs',
      'AlwaysDeny',
    ]
    const all = plugins({ enable: others.toReversed() })
    expect(all.filter((name) => others.includes(name))).toEqual(others)
    expect(all.slice(0, 4)).toEqual([
      'AlwaysAdmit',
      'NamespaceAutoProvision',
      'NamespaceLifecycle',
      'NamespaceExists',
    ])
    expect(all.at(-1)).toBe('AlwaysDeny')
  })

  test('a plugin that needs a configuration does not start without one', () => {
    expect(() => plugins({ enable: ['EventRateLimit'] })).toThrow(
      'couldn\'t init admission plugin "EventRateLimit": limits: Invalid value: []eventratelimit.Limit(nil): must not be empty',
    )
    expect(() => plugins({ enable: ['ImagePolicyWebhook'] })).toThrow(
      'couldn\'t init admission plugin "ImagePolicyWebhook": no config specified',
    )
  })

  test('NodeRestriction runs when it is enabled', () => {
    expect(plugins({})).not.toContain('NodeRestriction')
    expect(plugins({ enable: ['NodeRestriction'] })[3]).toBe('NodeRestriction')
  })

  test('a disabled plugin does not run', () => {
    expect(plugins({ disable: ['Priority', 'ServiceAccount'] })).not.toContain('Priority')
  })

  test('unknown names, and names in both lists, are refused', () => {
    expect(() => plugins({ enable: ['Magic'] })).toThrow(
      /^--enable-admission-plugins: plugin "Magic" is unknown; known are AlwaysAdmit, /,
    )
    expect(() => plugins({ disable: ['Magic'] })).toThrow('--disable-admission-plugins')
    expect(() => plugins({ enable: ['Priority'], disable: ['Priority'] })).toThrow('overlapped')
  })

  test('escalation is checked whatever the flags', async () => {
    const off = [...plugins({})]
    const admission = createAdmission({ disable: off }, dependencies)
    const request = { operation: 'CREATE', object: { metadata: {}, rules: [] } }
    const ask = (operation: string, object: object | undefined = request.object) =>
      admission.validate({ ...request, operation, object } as unknown as AdmissionRequest)
    await expect(ask('CREATE')).rejects.toThrow('escalation')
    await expect(ask('UPDATE')).rejects.toThrow('escalation')
    await ask('DELETE')
    expect(admission.validate({ operation: 'CREATE' } as AdmissionRequest)).toBeUndefined()
  })
})

describe('the chain', () => {
  const request = { resource: resourcesOf(dialects.kubernetes).pods } as AdmissionRequest
  function recorder(log: string[], name: string, isLater: boolean): AdmissionPlugin {
    const note = (phase: string): void | Promise<void> => {
      if (!isLater) {
        log.push(`${phase} ${name}`)
        return undefined
      }
      return new Promise((resolve) => setImmediate(resolve)).then(() => {
        log.push(`${phase} ${name}`)
      })
    }
    return { name, mutate: () => note('mutate'), validate: () => note('validate') }
  }

  test('plugins run one after the other, waiting for those that take time', async () => {
    const log: string[] = []
    const chain = admissionChain([
      recorder(log, 'a', false),
      recorder(log, 'b', true),
      recorder(log, 'c', false),
      recorder(log, 'd', true),
    ])
    await chain.mutate(request)
    await chain.validate(request)
    const expected = ['a', 'b', 'c', 'd']
    expect(log).toEqual([
      ...expected.map((name) => `mutate ${name}`),
      ...expected.map((name) => `validate ${name}`),
    ])
  })

  test('the first refusal ends it and bears the name of its plugin, now or later', async () => {
    for (const isLater of [false, true]) {
      const log: string[] = []
      const error = forbidden({ group: '', plural: 'x' }, 'y', 'no')
      const refuses: AdmissionPlugin = {
        name: 'no',
        validate: () => {
          if (isLater) return Promise.reject(error)
          throw error
        },
      }
      const chain = admissionChain([
        recorder(log, 'a', isLater),
        refuses,
        recorder(log, 'b', false),
      ])
      await chain.mutate(request)
      const refused = await new Promise((resolve) => resolve(chain.validate(request))).catch(
        (thrown: unknown) => thrown,
      )
      expect(refused).toBe(error)
      expect(refusalOf(refused)).toEqual({ plugin: 'no' })
      expect(log).toEqual(['mutate a', 'mutate b', 'validate a'])
    }
    expect(refusalOf(new Error('x'))).toBeUndefined()
    expect(refusalOf('x')).toBeUndefined()
  })

  test('all that change the object run once more when one of them asks for it, and only once', async () => {
    const log: string[] = []
    const asks: AdmissionPlugin = {
      name: 'asks',
      mutate: async (one) => {
        const rounds = roundsOf(one)
        rounds.isAnotherAsked = true
        log.push(`round ${rounds.round}`)
      },
    }
    await admissionChain([recorder(log, 'a', false), asks]).mutate({ ...request })
    expect(log).toEqual(['mutate a', 'round 0', 'mutate a', 'round 1'])
  })

  test('it is synchronous when all plugins are', () => {
    expect(admissionChain([recorder([], 'a', false)]).mutate(request)).toBeUndefined()
  })
})
