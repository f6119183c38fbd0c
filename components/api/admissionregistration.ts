/** The admissionregistration group: webhook configurations and admission policies. */
import { groupTable, since, status } from './group-table.ts'

const common = { namespaced: false, categories: ['api-extensions'] }
const beta = {
  version: 'v1beta1',
  storedAs: 'admissionregistration/v1',
  lifecycle: { introduced: '1.28', deprecated: '1.31', removed: '1.34' },
}
const alpha = {
  version: 'v1alpha1',
  lifecycle: { introduced: '1.32', deprecated: '1.35', removed: '1.38' },
}

export const admissionregistration = groupTable({
  stem: 'admissionregistration',
  package: 'admissionregistration',
  priority: 16_700,
  versions: { v1: 15, v1beta1: 12, v1alpha1: 9 },
  kinds: {
    mutatingAdmissionPolicies: { kind: 'MutatingAdmissionPolicy', ...common, ...alpha },
    mutatingAdmissionPolicyBindings: {
      kind: 'MutatingAdmissionPolicyBinding',
      ...common,
      ...alpha,
    },
    mutatingWebhookConfigurations: {
      kind: 'MutatingWebhookConfiguration',
      ...common,
      lifecycle: since('1.16'),
    },
    validatingAdmissionPolicies: {
      kind: 'ValidatingAdmissionPolicy',
      ...common,
      subresources: [status],
      lifecycle: since('1.30'),
    },
    validatingAdmissionPoliciesV1beta1: {
      kind: 'ValidatingAdmissionPolicy',
      plural: 'validatingadmissionpolicies',
      ...common,
      subresources: [status],
      ...beta,
    },
    validatingAdmissionPolicyBindings: {
      kind: 'ValidatingAdmissionPolicyBinding',
      ...common,
      lifecycle: since('1.30'),
    },
    validatingAdmissionPolicyBindingsV1beta1: {
      kind: 'ValidatingAdmissionPolicyBinding',
      plural: 'validatingadmissionpolicybindings',
      ...common,
      ...beta,
    },
    validatingWebhookConfigurations: {
      kind: 'ValidatingWebhookConfiguration',
      ...common,
      lifecycle: since('1.16'),
    },
  },
})
