/** The certificates group: signing requests and, when switched on, trust bundles. */
import { groupTable, part, since, status } from './group-table.ts'

export const certificates = groupTable({
  stem: 'certificates',
  package: 'certificates',
  priority: 17_300,
  versions: { v1: 15, v1alpha1: 1 },
  kinds: {
    certificateSigningRequests: {
      kind: 'CertificateSigningRequest',
      namespaced: false,
      shortNames: ['csr'],
      subresources: [part('approval'), status],
      selectableFields: ['spec.signerName'],
      lifecycle: since('1.19'),
    },
    clusterTrustBundles: {
      kind: 'ClusterTrustBundle',
      version: 'v1alpha1',
      namespaced: false,
      selectableFields: ['spec.signerName'],
      lifecycle: { introduced: '1.26', deprecated: '1.34', removed: '1.37' },
    },
  },
})
