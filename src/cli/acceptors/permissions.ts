/** What a store's administrator has to grant, as he would type it. Passwords are his to choose. */
import type { Place } from './place.ts';
import { prefixOf, tableOf } from './kinds.ts';

export interface Permissions {
  /** The same in a sentence. */
  readonly needs: string;
  readonly grant: readonly string[];
}

type Explain = (place: Place) => Permissions;

const service: Explain = () => ({
  needs: 'the acceptor token, and to trust the authority of its certificate',
  grant: ['BATON_ACCEPTOR_TOKEN=...    # what baton acceptor --token-file has'],
});

const PERMISSIONS: Readonly<Record<string, Explain>> = {
  http: service,
  https: service,
  memory: () => ({ needs: 'nothing', grant: [] }),
  lmdb: ({ path }) => ({
    needs: 'to read and write the files of its directory',
    grant: [`install -d -o baton -m 700 ${path[0] ?? ''}`],
  }),
  postgres,
  redis: (place) => ({
    needs: 'its keys, scripts, and to look at the settings',
    grant: [
      `ACL SETUSER baton on '>PASSWORD' resetkeys '~{${prefixOf(place)}}:*' resetchannels -@all \\`,
      '  +evalsha +eval +persist +hlen +hget +hmget +hset +hkeys +hscan +zcard +info +config|get +select',
    ],
  }),
  etcd: ({ options }) => ({
    needs: 'to read and write the keys of its prefix',
    grant: [
      'etcdctl role add baton',
      `etcdctl role grant-permission baton --prefix=true readwrite ${options.get('prefix') ?? 'baton/'}`,
      'etcdctl user add baton',
      'etcdctl user grant-role baton baton',
    ],
  }),
  'azure-blob': ({ path }) => ({
    needs: 'to read, write and list blobs of the container; and to make the container, if nobody else does',
    grant: [
      "az role assignment create --role 'Storage Blob Data Contributor' --assignee PRINCIPAL \\",
      `  --scope /subscriptions/SUBSCRIPTION/resourceGroups/GROUP/providers/Microsoft.Storage/storageAccounts/ACCOUNT/blobServices/default/containers/${path.at(-1) ?? 'baton'}`,
    ],
  }),
  dynamodb,
  cosmos,
};

export function permissionsFor(place: Place): Permissions {
  return PERMISSIONS[place.scheme]!(place);
}

function postgres(place: Place): Permissions {
  const table = tableOf(place);
  const schema = table.includes('.') ? table.slice(0, table.indexOf('.')) : 'public';
  const database = place.path[0] ?? 'DATABASE';
  return {
    needs: 'to read and write one table; and to make it, if nobody else does',
    grant: [
      `GRANT CONNECT ON DATABASE ${database} TO baton;`,
      `GRANT USAGE ON SCHEMA ${schema} TO baton;`,
      `GRANT SELECT, INSERT, UPDATE ON TABLE ${table} TO baton;`,
      `GRANT CREATE ON SCHEMA ${schema} TO baton;    -- only if Baton is to make the table`,
    ],
  };
}

function dynamodb({ hosts, path }: Place): Permissions {
  const policy = {
    Version: '2012-10-17',
    Statement: [
      {
        Effect: 'Allow',
        Action: [
          'dynamodb:DescribeTable',
          'dynamodb:BatchGetItem',
          'dynamodb:PutItem',
          'dynamodb:Query',
          'dynamodb:CreateTable',
        ],
        Resource: `arn:aws:dynamodb:${hosts[0] ?? '*'}:ACCOUNT:table/${path[0] ?? 'baton'}`,
      },
    ],
  };
  return {
    needs: 'these actions on one table; CreateTable only if Baton is to make it',
    grant: JSON.stringify(policy, null, 2).split('\n'),
  };
}

function cosmos({ hosts, path }: Place): Permissions {
  const account = /^([^.]+)\.documents\./.exec(hosts[0] ?? '')?.[1] ?? 'ACCOUNT';
  const [database = 'DATABASE', container = 'CONTAINER'] = path;
  return {
    needs:
      'the data-plane role for the items of one container; a role cannot make the container, so an administrator makes it, or the account key is used',
    grant: [
      `az cosmosdb sql role assignment create --account-name ${account} --resource-group GROUP \\`,
      '  --role-definition-id 00000000-0000-0000-0000-000000000002 --principal-id PRINCIPAL \\',
      `  --scope /dbs/${database}/colls/${container}`,
    ],
  };
}
