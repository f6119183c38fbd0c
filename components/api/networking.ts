/** The networking group. */
import { groupTable, since, status } from './group-table.ts'

const alpha = {
  version: 'v1alpha1',
  lifecycle: { introduced: '1.27', deprecated: '1.30', removed: '1.33' },
}
const beta = {
  version: 'v1beta1',
  lifecycle: { introduced: '1.31', deprecated: '1.34', removed: '1.37' },
}

const ipAddress = {
  kind: 'IPAddress',
  plural: 'ipaddresses',
  namespaced: false,
  shortNames: ['ip'],
}
const serviceCidr = {
  kind: 'ServiceCIDR',
  plural: 'servicecidrs',
  namespaced: false,
  subresources: [status],
}

export const networking = groupTable({
  stem: 'networking',
  package: 'networking',
  priority: 17_200,
  versions: { v1: 15, v1beta1: 9, v1alpha1: 1 },
  kinds: {
    ingressClasses: { kind: 'IngressClass', namespaced: false, lifecycle: since('1.19') },
    ingresses: {
      kind: 'Ingress',
      shortNames: ['ing'],
      subresources: [status],
      lifecycle: since('1.19'),
    },
    ipAddresses: { ...ipAddress, ...beta },
    ipAddressesV1alpha1: { ...ipAddress, ...alpha, storedAs: 'networking/v1beta1' },
    networkPolicies: { kind: 'NetworkPolicy', shortNames: ['netpol'], lifecycle: since('1.7') },
    serviceCidrs: { ...serviceCidr, ...beta },
    serviceCidrsV1alpha1: { ...serviceCidr, ...alpha, storedAs: 'networking/v1beta1' },
  },
})
