/**
 * Makes a cluster's pki by hand, one step at a time, and shows what is in it: npx node scripts/certs.ts [--dir DIR] [--yes]
 * The same code as `skiff up` uses.
 */
import { join } from 'node:path'
import { chalk, echo } from 'zx'
import { inspectCertificates } from '../certs/inspect.ts'
import { createPki, credentialNames } from '../certs/pki.ts'
import { writePki } from '../certs/pki-files.ts'
import { caHashOf } from '../cluster/launch.ts'
import { option, show, step } from './teaching/lesson.ts'

const folder = option('dir', join('.cluster', 'pki'))

await step(
  'Keys and certificates',
  `A cluster trusts what its own authority (CA) has signed. There are two of them: one for the cluster, and one for
   proxies that stand in front of the API server, so that nobody signed by the first can pose as such a proxy.
   Every component has a key and a certificate of its own. Its name (CN) and groups (O) are who it is to the API server.`,
)
const pki = createPki({ apiServer: { serviceName: 'kubernetes' }, nowMs: Date.now() })

await step('The cluster CA', 'It signs itself. Whoever has its key can be anybody in the cluster.')
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
  `A machine that joins knows nobody yet. The hash of the CA's public key tells it that it talks to the right cluster;
   it is given to it by hand, beside the token.`,
)
show(caHashOf(pki.authority))

await step(
  'Writing it down',
  'Keys are readable by their owner alone; every file is replaced in one step.',
)
await writePki(folder, pki)
show(
  `written to ${folder}; look with: openssl x509 -noout -text -in ${join(folder, 'apiserver.crt')}`,
)
echo(chalk.green('\nNext: npx node scripts/up.ts'))
