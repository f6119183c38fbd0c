/** Flags of the console's process. */
import type { ComponentDeclaration } from '../components/component-base/component.ts'
import { defineFlags, flag } from '../components/component-base/flags.ts'

export const consoleFlags = defineFlags({
  dialect: flag.string('Dialect of names in the API.', 'kubernetes', {
    choices: ['kubernetes', 'svc'],
  }),
  'bind-address': flag.string('Address that it listens on for browsers.', '127.0.0.1'),
  port: flag.int('Port that it listens on for browsers; 0 picks a free port.', 0, { least: 0 }),
  kubeconfig: flag.string('Kubeconfig of the viewer, whose rights the page has.'),
  'state-dir': flag.string(
    'State directory of the cluster, whose supervisor the page controls; without it, the page has no Lab.',
  ),
  'link-secret-file': flag.string(
    'File that it writes a new secret to when it starts; links are signed with it.',
  ),
})

/** As its help shows it. */
export const consoleProgram: ComponentDeclaration<typeof consoleFlags> = {
  name: 'console',
  description: 'Serves a page that shows a cluster. skiff console makes links that open it.',
  examples: ['console --kubeconfig console.kubeconfig --link-secret-file console.secret'],
  flags: consoleFlags,
}
