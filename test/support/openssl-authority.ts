/** An authority run with the `openssl` command, whose certificates have the dates and usages that are asked for. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface CertificateFiles {
  readonly cert: string
  readonly key: string
}

export interface OpensslAuthority {
  /** Path of its own certificate. */
  readonly ca: string
  /** `subject` in openssl's form, `/O=devs/CN=jane`; days are counted from now, the default is a day around it. */
  issue(
    name: string,
    options: { subject: string; fromDay?: number; toDay?: number; usage?: string },
  ): CertificateFiles
}

function openssl(folder: string, ...words: string[]): void {
  execFileSync('openssl', words, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
}

/** `YYYYMMDDHHMMSSZ`. */
function instant(days: number): string {
  const text = new Date(Date.now() + days * 86_400_000).toISOString()
  return `${text.slice(0, 19).replaceAll(/[-:T]/g, '')}Z`
}

/** `folder` is made; it holds everything. */
export function createOpensslAuthority(folder: string, commonName: string): OpensslAuthority {
  mkdirSync(folder)
  writeFileSync(join(folder, 'index.txt'), '')
  writeFileSync(join(folder, 'serial'), '01')
  writeFileSync(
    join(folder, 'ca.cnf'),
    `[ca]
default_ca = own
[own]
database = index.txt
serial = serial
new_certs_dir = .
certificate = ca.crt
private_key = ca.key
default_md = sha256
policy = any
unique_subject = no
copy_extensions = none
[any]
commonName = supplied
organizationName = optional
`,
  )
  const selfSigned = '-x509 -newkey rsa:2048 -nodes -days 30 -keyout ca.key -out ca.crt'.split(' ')
  openssl(folder, 'req', ...selfSigned, '-subj', `/CN=${commonName}`)
  return {
    ca: join(folder, 'ca.crt'),
    issue(name, { subject, fromDay = -0.5, toDay = 0.5, usage = 'clientAuth' }) {
      const files = [`${name}.key`, `${name}.csr`, `${name}.crt`, `${name}.ext`] as const
      const [key, request, certificate, extensions] = files
      writeFileSync(join(folder, extensions), `extendedKeyUsage = ${usage}\n`)
      const newKey = '-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'.split(' ')
      openssl(folder, 'req', ...newKey, '-keyout', key, '-out', request, '-subj', subject)
      const dates = ['-startdate', instant(fromDay), '-enddate', instant(toDay)]
      const files_ = ['-in', request, '-out', certificate, '-extfile', extensions]
      openssl(folder, 'ca', '-batch', '-notext', '-config', 'ca.cnf', ...dates, ...files_)
      return { cert: join(folder, certificate), key: join(folder, key) }
    },
  }
}
