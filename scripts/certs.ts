/**
 * Creates a cluster's PKI by hand, one step at a time, and shows the certificates: npx node scripts/certs.ts [--dir DIR] [--yes]
 * The same code as `skiff up` uses.
 */
import { join } from 'node:path'
import { chalk, echo } from 'zx'
import { inspectCertificates } from '../certs/inspect.ts'
import { createPki, credentialNames } from '../certs/pki.ts'
import { writePki } from '../certs/pki-files.ts'
import { caHashOf } from '../cluster/plan/ca-hash.ts'
import { option, show, step } from './teaching/lesson.ts'

const folder = option('dir', join('.cluster', 'pki'))

await step(
  'Keys and certificates',
  `A cluster trusts certificates that its own certificate authorities (CAs) signed. One signs for the cluster, the other for
   front proxies, so that a certificate of the first is not accepted as a proxy's. Every component has its own key and
   certificate. The API server takes the user name from the common name (CN), and the groups from the organizations (O).`,
)
const pki = createPki({ apiServer: { serviceName: 'kubernetes' }, nowMs: Date.now() })

await step(
  'The cluster CA',
  'It is self-signed. With its key you can issue a certificate for any user of the cluster.',
)
const report = async (pem: string): Promise<void> => {
  for (const one of await inspectCertificates(pem, Date.now())) {
    show(
      [
        `subject  ${one.subject.replaceAll('\n', ', ')}`,
        `issuer   ${one.issuer.replaceAll('\n', ', ')}`,
        `usages   ${one.usages.join(', ')}`,
        `names    ${one.alternativeNames.join(', ') || '-'}`,
        `until    ${new Date(one.notAfterMs).toISOString()}`,
      ].join('\n'),
    )
  }
}
await report(pki.authority.certificatePem)

for (const name of credentialNames) {
  await step(name, `${name}.crt and ${name}.key`)
  await report(pki.credentials[name].certificatePem)
}

await step(
  'The pin',
  `A machine that joins has no CA to trust yet. You give it the hash of the CA's public key beside the token; with the hash
   it verifies that it talks to the right cluster.`,
)
show(caHashOf(pki.authority))

await step('Files', 'Only their owner can read the keys. Every file is replaced atomically.')
await writePki(folder, pki)
show(
  `written to ${folder}; look with: openssl x509 -noout -text -in ${join(folder, 'apiserver.crt')}`,
)
echo(chalk.green('\nNext: npx node scripts/up.ts'))
