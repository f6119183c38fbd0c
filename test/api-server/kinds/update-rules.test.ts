import { expect, test } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { strategyOf } from '../../../components/api-server/registry/strategies.ts'

const resources = resourcesOf(dialects.kubernetes)

test.each([
  'leases',
  'podDisruptionBudgets',
  'mutatingWebhookConfigurations',
  'validatingWebhookConfigurations',
  'validatingAdmissionPolicies',
  'validatingAdmissionPolicyBindings',
  'customResourceDefinitions',
  'apiServices',
  'runtimeClasses',
  'csiDrivers',
  'csiNodes',
  'csiStorageCapacities',
  'volumeAttachments',
  'clusterTrustBundles',
] as const)('%s are updated only with a resourceVersion', (name) => {
  expect(strategyOf(resources[name]).allowUnconditionalUpdate).toBe(false)
})

test.each([
  'certificateSigningRequests',
  'roles',
  'clusterRoleBindings',
  'events',
  'priorityClasses',
  'ingresses',
  'ingressClasses',
  'networkPolicies',
  'storageClasses',
  'horizontalPodAutoscalers',
  'flowSchemas',
  'ipAddresses',
] as const)('%s may be updated without a resourceVersion', (name) => {
  expect(strategyOf(resources[name]).allowUnconditionalUpdate).not.toBe(false)
})

const counting = [
  'podDisruptionBudgets',
  'ingresses',
  'ingressClasses',
  'networkPolicies',
  'mutatingWebhookConfigurations',
  'validatingWebhookConfigurations',
  'validatingAdmissionPolicies',
  'customResourceDefinitions',
  'flowSchemas',
  'priorityLevelConfigurations',
  'deviceClasses',
] as const
const plain = [
  'certificateSigningRequests',
  'roles',
  'leases',
  'events',
  'storageClasses',
  'csiNodes',
  'volumeAttachments',
  'horizontalPodAutoscalers',
  'runtimeClasses',
  'apiServices',
] as const

test.each([
  ...counting.map((name) => [name, true] as const),
  ...plain.map((name) => [name, false] as const),
])('%s count the generations of their spec: %s', (name, counts) => {
  expect(strategyOf(resources[name]).hasGeneration ?? false).toBe(counts)
})
